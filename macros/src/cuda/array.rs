//! `shared_array![T; N]`: a named array in shared memory, and its address here.
//!
//! On the device the asm takes the address of a symbol of this place, and its comment has the builder's pass declare the
//! symbol once, however often the compiler copies the asm. On the host the emulator keeps an array per block and place.

use proc_macro2::TokenStream;
use quote::quote;
use std::sync::atomic::{AtomicU32, Ordering};
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Token, Type};

/// Counts the places of the crate that is being compiled.
static PLACES: AtomicU32 = AtomicU32::new(0);

struct Array {
    of: Type,
    len: Expr,
}

impl Parse for Array {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let of = input.parse()?;
        input.parse::<Token![;]>()?;
        Ok(Self { of, len: input.parse()? })
    }
}

pub(crate) fn expand(input: TokenStream) -> TokenStream {
    let Array { of, len } = match syn::parse2(input) {
        Ok(array) => array,
        Err(error) => return error.into_compile_error(),
    };
    let krate = std::env::var("CARGO_CRATE_NAME").unwrap_or_else(|_| String::from("kernels"));
    let symbol = format!("{krate}__shared_{}", PLACES.fetch_add(1, Ordering::Relaxed));
    let address = format!("{{{{ .reg .b64 t; mov.b64 t, {symbol}; cvta.shared.u64 {{address}}, t; }}}} ");
    let declaration = format!("// @shared {symbol} {{bytes}} {{align}}");
    quote! {{
        const {
            let bytes = ::core::mem::size_of::<[#of; #len]>();
            ::core::assert!(bytes > 0, "a shared array has at least one byte");
            ::core::assert!(bytes <= 48 * 1024, "a block has at most 48 KiB of static shared memory");
        }
        #[cfg(target_arch = "nvptx64")]
        let array: *mut #of = {
            let address: u64;
            // SAFETY: takes the address of a symbol that the builder declares.
            unsafe {
                ::core::arch::asm!(
                    ::core::concat!(#address, #declaration),
                    address = out(reg64) address,
                    bytes = const ::core::mem::size_of::<[#of; #len]>(),
                    align = const if ::core::mem::align_of::<#of>() > 16 { ::core::mem::align_of::<#of>() } else { 16 },
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            address as *mut #of
        };
        #[cfg(not(target_arch = "nvptx64"))]
        let array: *mut #of = {
            static PLACE: u8 = 0;
            ::oxshmem_device::__private::fixed::<#of, { #len }>(&PLACE)
        };
        array
    }}
}
