//! `#[nvshmem_kernel]`: parse and check (`parse`), then what the host sees (`host`) and what the device gets
//! (`device`).

mod device;
mod host;
pub(crate) mod parse;

use parse::Kernel;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{ItemFn, Type};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = error.into_compile_error();
            return quote!(#error #item);
        }
    };
    match Kernel::parse(arguments, &function) {
        Ok(kernel) => {
            let (device, host) = (device::expand(&kernel), host::expand(&kernel));
            quote! {
                #[inline(always)]
                #[allow(clippy::too_many_arguments)]
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

/// The types of one instance, as they appear in a symbol: `f32`, or `f32_u32` for two.
fn instance_name(types: &[Type]) -> String {
    let one = |ty: &Type| match ty {
        Type::Path(path) => {
            path.path.segments.last().map(|s| s.to_token_stream().to_string()).unwrap_or_default()
        }
        other => other.to_token_stream().to_string(),
    };
    let joined: Vec<String> = types.iter().map(one).collect();
    joined.join("_").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
