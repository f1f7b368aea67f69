//! What the device gets: a marker comment and an `extern "ptx-kernel"` entry. A slice arrives as an address and a length
//! and becomes a reference inside, so that its loads are plain ones: a reference in the entry's own parameter list would
//! be read by non-coherent loads.

use super::parse::Kernel;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

pub(super) fn expand(kernel: &Kernel<'_>) -> TokenStream {
    let function = &kernel.function.sig.ident;
    let krate = std::env::var("CARGO_CRATE_NAME").unwrap_or_else(|_| String::from("kernels"));
    let symbol = format!("{krate}__{function}");
    let entry = format_ident!("__oxshmem_entry_{function}");
    // Local memory is slow, not wrong: what builds with rust-cuda builds here.
    let marker = format!("// @oxshmem kernel={symbol} collective=0 local=allow");
    let carried: Vec<_> = kernel.params.iter().map(|param| param.carried()).collect();
    let first: Vec<_> = (0..carried.len()).map(|i| format_ident!("first_{i}")).collect();
    let second: Vec<_> = (0..carried.len()).map(|i| format_ident!("second_{i}")).collect();
    let values = carried.iter().zip(&first).zip(&second);
    let call = kernel.call(values.map(
        |((carried, first), second)| quote!(<#carried as __oxshmem::KernelParam>::from_raw(#first, #second)),
    ));
    quote! {
        #[cfg(target_arch = "nvptx64")]
        ::core::arch::global_asm!(#marker);
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            use ::oxshmem_device::__private as __oxshmem;

            #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
            #[unsafe(export_name = #symbol)]
            extern "ptx-kernel" fn #entry(
                _: __oxshmem::ContextAbi,
                #(
                    #first: <#carried as __oxshmem::KernelParam>::R0,
                    #second: <#carried as __oxshmem::KernelParam>::R1,
                )*
            ) {
                // SAFETY: the host launched this entry with the parameters' own pieces; whoever launched answers for
                // the kernel's contract.
                unsafe { #call }
            }
        };
    }
}
