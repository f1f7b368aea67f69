//! What the host sees: a struct of the kernel's name with `launch` and `launch_on`, and its `Kernel` impl.

use super::instance_name;
use super::parse::Kernel;
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Index, Type};

pub(super) fn expand(kernel: &Kernel<'_>) -> TokenStream {
    let name = &kernel.function.sig.ident;
    let visibility = &kernel.function.vis;
    let doc = format!("The host side of the kernel [`{name}`](fn@{name}): launches it.");
    let (generics, fields) = if kernel.generics.is_empty() {
        (quote!(), quote!())
    } else {
        let types = &kernel.generics;
        (
            quote!(<#(#types),*>),
            quote!(#[allow(dead_code)] instance: ::core::marker::PhantomData<fn() -> (#(#types,)*)>),
        )
    };
    let instances: Vec<TokenStream> = if kernel.generics.is_empty() {
        vec![instance(kernel, &[])]
    } else {
        kernel.arguments.instances.iter().map(|types| instance(kernel, types)).collect()
    };
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #doc]
        #[allow(non_camel_case_types)]
        #[derive(Debug)]
        #visibility struct #name #generics { #fields }
        #(#instances)*
    }
}

fn instance(kernel: &Kernel<'_>, types: &[Type]) -> TokenStream {
    let name = &kernel.function.sig.ident;
    let visibility = &kernel.function.vis;
    let context = kernel.context;
    let generics = &kernel.generics;
    let suffix = if types.is_empty() { String::new() } else { format!("__{}", instance_name(types)) };
    let suffix = format!("__{name}{suffix}");
    let arguments = (!types.is_empty()).then(|| quote!(<#(#generics),*>));
    let turbofish = (!types.is_empty()).then(|| quote!(::<#(#generics),*>));
    let engine = kernel.arguments.engine();
    let shared = match &kernel.arguments.shared {
        Some(layout) => quote_spanned!(layout.span() => <#layout>::BYTES),
        None => quote!(0),
    };
    let option = |number: Option<u32>| match number {
        Some(number) => quote!(::core::option::Option::Some(#number)),
        None => quote!(::core::option::Option::None),
    };
    let (block, max_block) = (option(kernel.arguments.block), option(kernel.arguments.max_block));
    let names: Vec<_> = kernel.params.iter().map(|(name, _)| name).collect();
    let param_types: Vec<_> = kernel.params.iter().map(|(_, ty)| ty).collect();
    let indices: Vec<Index> = (0..names.len()).map(Index::from).collect();
    // Argument names of `launch` must not meet its own.
    let args: Vec<_> =
        names.iter().map(|name| format_ident!("{}", name.to_string().trim_start_matches("r#"))).collect();
    let shown: Vec<_> = args.iter().map(ToString::to_string).collect();
    let param = |ty: &&Type| quote_spanned!(ty.span() => <#ty as __oxshmem::KernelParam>);
    let traits: Vec<_> = param_types.iter().map(|ty| param(ty)).collect();
    let context_trait = quote_spanned!(context.span() => <#context as __oxshmem::KernelContext>);
    let launch_doc = format!(
        "Starts `{name}` on the default stream of `on` and returns without waiting.\n\n# Errors\n\
         What the launcher says; nothing has run then."
    );
    let launch_on_doc = format!(
        "Starts `{name}` on `stream` and returns without waiting.\n\n# Errors\nAs [`launch`](Self::launch)."
    );
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        const _: () = {
            use ::oxshmem_device::__private as __oxshmem;
            #(#[allow(dead_code)] type #generics = #types;)*

            impl __oxshmem::Kernel for #name #arguments {
                const SYMBOL: &'static str = ::core::concat!(::core::env!("CARGO_CRATE_NAME"), #suffix);
                const COLLECTIVE: bool = #context_trait::COLLECTIVE;
                const SHARED_BYTES: u32 = #shared;
                const BLOCK: ::core::option::Option<u32> = #block;
                const MAX_BLOCK: ::core::option::Option<u32> = #max_block;
                const PARAMETERS: &'static [&'static str] = &[#(#shown),*];
                type Raw = (#((#traits::R0, #traits::R1),)*);

                #[allow(unused_variables)]
                fn visit(raw: &Self::Raw, visitor: &mut dyn __oxshmem::ParamVisitor) {
                    #(__oxshmem::visit_param::<#param_types>(&raw.#indices, visitor);)*
                }

                #[allow(unused_variables, clippy::unit_arg)]
                unsafe fn run_thread(context: __oxshmem::ContextAbi, raw: Self::Raw) {
                    // SAFETY: the caller gives a launch's context and its checked parameters.
                    #name #turbofish (
                        unsafe { #context_trait::from_abi(context, #engine) },
                        #(unsafe { #traits::from_raw(raw.#indices.0, raw.#indices.1) },)*
                    )
                }
            }

            #[allow(clippy::too_many_arguments)]
            impl #name #arguments {
                #[doc = #launch_doc]
                #[track_caller]
                #visibility fn launch<__L: __oxshmem::Launcher>(
                    on: &__L,
                    config: __oxshmem::LaunchConfig,
                    #(#args: impl __oxshmem::Arg<#param_types>,)*
                ) -> ::core::result::Result<(), __L::Error> {
                    let raw = (#(#traits::into_raw(__oxshmem::Arg::<#param_types>::to_param(&#args)),)*);
                    on.launch_kernel::<Self>(::core::option::Option::None, config, raw)
                }

                #[doc = #launch_on_doc]
                #[track_caller]
                #visibility fn launch_on<__L: __oxshmem::Launcher>(
                    on: &__L,
                    stream: &__L::Stream,
                    config: __oxshmem::LaunchConfig,
                    #(#args: impl __oxshmem::Arg<#param_types>,)*
                ) -> ::core::result::Result<(), __L::Error> {
                    let raw = (#(#traits::into_raw(__oxshmem::Arg::<#param_types>::to_param(&#args)),)*);
                    on.launch_kernel::<Self>(::core::option::Option::Some(stream), config, raw)
                }
            }
        };
    }
}
