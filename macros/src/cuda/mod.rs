//! rust-cuda's macros: `#[kernel]` (`parse`, then `host` and `device`) and `shared_array!`.
//!
//! A rust-cuda kernel knows no context. Its entry takes one all the same as its first parameter, so that a launch is the
//! same for every kernel.

mod array;
mod device;
mod host;
mod parse;

pub(crate) use array::expand as shared_array;

use parse::Kernel;
use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;

pub(crate) fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = error.into_compile_error();
            return quote!(#error #item);
        }
    };
    match Kernel::parse(&arguments, &function) {
        Ok(kernel) => {
            let (device, host) = (device::expand(&kernel), host::expand(&kernel));
            quote! {
                #[inline(always)]
                #[allow(
                    unsafe_op_in_unsafe_fn,
                    clippy::missing_safety_doc,
                    clippy::too_many_arguments,
                )]
                #function
                #device
                #host
            }
        }
        Err(error) => {
            let error = error.into_compile_error();
            quote!(#error #[allow(dead_code)] #function)
        }
    }
}
