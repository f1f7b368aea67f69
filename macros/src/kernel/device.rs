//! What the device gets: for each instance a marker comment and an `extern "ptx-kernel"` entry whose parameters
//! are raw pieces.

use super::instance_name;
use super::parse::Kernel;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Type;

pub(super) fn expand(kernel: &Kernel<'_>) -> TokenStream {
    if kernel.generics.is_empty() {
        return entry(kernel, &[]);
    }
    kernel.arguments.instances.iter().map(|types| entry(kernel, types)).collect()
}

fn entry(kernel: &Kernel<'_>, types: &[Type]) -> TokenStream {
    let function = &kernel.function.sig.ident;
    let krate = std::env::var("CARGO_CRATE_NAME").unwrap_or_else(|_| String::from("kernels"));
    let suffix = if types.is_empty() { String::new() } else { format!("__{}", instance_name(types)) };
    let symbol = format!("{krate}__{function}{suffix}");
    let entry = format_ident!("__oxshmem_entry_{function}{suffix}");
    let (context, generics) = (kernel.context, &kernel.generics);
    let turbofish = (!types.is_empty()).then(|| quote!(::<#(#generics),*>));
    let param_types: Vec<_> = kernel.params.iter().map(|(_, ty)| ty).collect();
    let first: Vec<_> = (0..param_types.len()).map(|i| format_ident!("first_{i}")).collect();
    let second: Vec<_> = (0..param_types.len()).map(|i| format_ident!("second_{i}")).collect();
    let marker = marker(kernel, &symbol);
    let engine = kernel.arguments.engine();
    quote! {
        #marker
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            use ::oxshmem_device::__private as __oxshmem;
            #(#[allow(dead_code)] type #generics = #types;)*

            #[allow(improper_ctypes_definitions, clippy::too_many_arguments, clippy::unit_arg)]
            #[unsafe(export_name = #symbol)]
            extern "ptx-kernel" fn #entry(
                context: __oxshmem::ContextAbi,
                #(
                    #first: <#param_types as __oxshmem::KernelParam>::R0,
                    #second: <#param_types as __oxshmem::KernelParam>::R1,
                )*
            ) {
                // SAFETY: the host launched this entry with its context and the parameters' own pieces.
                #function #turbofish (
                    unsafe { <#context as __oxshmem::KernelContext>::from_abi(context, #engine) },
                    #(unsafe { <#param_types as __oxshmem::KernelParam>::from_raw(#first, #second) },)*
                )
            }
        };
    }
}

/// The comment that tells the builder's text pass and lint about this kernel. It must stand at item level.
fn marker(kernel: &Kernel<'_>, symbol: &str) -> TokenStream {
    let arguments = &kernel.arguments;
    let context = kernel.context;
    let mut text = format!("// @oxshmem kernel={symbol} collective={{collective}}");
    if let Some(block) = arguments.block.or(arguments.max_block) {
        text += &format!(" maxntid={block}");
    }
    // With the size of a block alone, `ptxas` may save registers for a second block, by spilling: one is asked for.
    let most = arguments.block.or(arguments.max_block);
    if let Some(blocks) = arguments.min_blocks.or(most.map(|_| 1)) {
        text += &format!(" minnctapersm={blocks}");
    }
    if let Some([x, y, z]) = arguments.cluster {
        text += &format!(" cluster={x},{y},{z}");
    }
    if let Some(arch) = &arguments.arch {
        text += &format!(" arch={arch}");
    }
    if arguments.local {
        text += " local=allow";
    }
    let mut operands = quote! {
        collective = const <#context as ::oxshmem_device::__private::KernelContext>::COLLECTIVE as u32,
    };
    if let Some(layout) = &arguments.shared {
        text += " shared={shared}";
        operands.extend(quote!(shared = const <#layout>::BYTES,));
    }
    quote! {
        #[cfg(target_arch = "nvptx64")]
        ::core::arch::global_asm!(#text, #operands);
    }
}
