//! What the host sees: a struct of the kernel's name with `launch` and `launch_on`, and its `Kernel` impl.

use super::parse::Kernel;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Index;

pub(super) fn expand(kernel: &Kernel<'_>) -> TokenStream {
    let name = &kernel.function.sig.ident;
    let visibility = &kernel.function.vis;
    let suffix = format!("__{name}");
    let doc = format!("The host side of the kernel [`{name}`](fn@{name}): launches it.");
    let safety = "# Safety\nThe kernel's own contract. Until it has ended, nothing writes what is given for a `&[T]`, and what is \
                  reached through a pointer lies in what is given for it: the launch checks that this is live memory of this \
                  PE, and nobody checks the kernel's accesses.";
    let launch_doc = format!(
        "Starts `{name}` on the default stream of `on` and returns without waiting.\n\n{safety}\n\n# Errors\n\
         What the launcher says; nothing has run then."
    );
    let launch_on_doc = format!(
        "Starts `{name}` on `stream` and returns without waiting.\n\n# Safety\nAs [`launch`](Self::launch).\n\n# Errors\n\
         As [`launch`](Self::launch)."
    );
    let carried: Vec<_> = kernel.params.iter().map(|param| param.carried()).collect();
    let asked: Vec<_> = kernel.params.iter().map(|param| param.asked()).collect();
    let indices: Vec<Index> = (0..carried.len()).map(Index::from).collect();
    // Argument names of `launch` must not meet its own.
    let args: Vec<_> = kernel
        .params
        .iter()
        .map(|param| format_ident!("{}", param.name.to_string().trim_start_matches("r#")))
        .collect();
    let raw: Vec<_> = kernel
        .params
        .iter()
        .zip(&args)
        .zip(asked.iter().zip(&carried))
        .map(|((param, arg), (asked, carried))| {
            let value = param.carry(&quote!(__oxshmem::Arg::<#asked>::to_param(&#arg)));
            quote!(<#carried as __oxshmem::KernelParam>::into_raw(#value))
        })
        .collect();
    let call =
        kernel.call(carried.iter().zip(&indices).map(
            |(carried, at)| quote!(<#carried as __oxshmem::KernelParam>::from_raw(raw.#at.0, raw.#at.1)),
        ));
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #doc]
        #[allow(non_camel_case_types)]
        #[derive(Debug)]
        #visibility struct #name {}

        #[cfg(not(target_arch = "nvptx64"))]
        const _: () = {
            use ::oxshmem_device::__private as __oxshmem;

            impl __oxshmem::Kernel for #name {
                const SYMBOL: &'static str = ::core::concat!(::core::env!("CARGO_CRATE_NAME"), #suffix);
                const COLLECTIVE: bool = false;
                const SHARED_BYTES: u32 = 0;
                const BLOCK: ::core::option::Option<u32> = ::core::option::Option::None;
                type Raw = (
                    #((
                        <#carried as __oxshmem::KernelParam>::R0,
                        <#carried as __oxshmem::KernelParam>::R1,
                    ),)*
                );

                #[allow(unused_variables)]
                fn visit(raw: &Self::Raw, visitor: &mut dyn __oxshmem::ParamVisitor) {
                    #(__oxshmem::visit_param::<#carried>(&raw.#indices, visitor);)*
                }

                #[allow(unused_variables)]
                unsafe fn run_thread(_: __oxshmem::ContextAbi, raw: Self::Raw) {
                    // SAFETY: the caller gives a launch's checked parameters; whoever launched answers for the kernel's
                    // contract.
                    unsafe { #call }
                }
            }

            #[allow(clippy::too_many_arguments)]
            impl #name {
                #[doc = #launch_doc]
                #visibility unsafe fn launch<__L: __oxshmem::Launcher>(
                    on: &__L,
                    config: __oxshmem::LaunchConfig,
                    #(#args: impl __oxshmem::Arg<#asked>,)*
                ) -> ::core::result::Result<(), __L::Error> {
                    let raw = (#(#raw,)*);
                    on.launch_kernel::<Self>(::core::option::Option::None, config, raw)
                }

                #[doc = #launch_on_doc]
                #visibility unsafe fn launch_on<__L: __oxshmem::Launcher>(
                    on: &__L,
                    stream: &__L::Stream,
                    config: __oxshmem::LaunchConfig,
                    #(#args: impl __oxshmem::Arg<#asked>,)*
                ) -> ::core::result::Result<(), __L::Error> {
                    let raw = (#(#raw,)*);
                    on.launch_kernel::<Self>(::core::option::Option::Some(stream), config, raw)
                }
            }
        };
    }
}
