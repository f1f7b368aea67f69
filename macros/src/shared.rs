//! `shared!`: one struct, turned into a struct of handles with constant offsets.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Fields, ItemStruct};

pub(crate) fn expand(input: TokenStream) -> TokenStream {
    match parse(input) {
        Ok(tokens) => tokens,
        Err(error) => error.into_compile_error(),
    }
}

fn parse(input: TokenStream) -> syn::Result<TokenStream> {
    let layout: ItemStruct = syn::parse2(input)?;
    if !layout.generics.params.is_empty() {
        return Err(Error::new(
            layout.generics.span(),
            "a shared-memory layout has no generic parameters: write its types out, one layout for each",
        ));
    }
    let Fields::Named(fields) = &layout.fields else {
        return Err(Error::new(layout.ident.span(), "a shared-memory layout is a struct with named fields"));
    };
    let (attributes, visibility, name) = (&layout.attrs, &layout.vis, &layout.ident);
    let (mut handles, mut offsets, mut makers, mut engines) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (index, field) in fields.named.iter().enumerate() {
        let (attrs, vis, ident, ty) = (&field.attrs, &field.vis, &field.ident, &field.ty);
        let handle = quote_spanned!(ty.span() => <#ty as ::oxshmem_device::__private::SharedField>::Handle);
        engines.push(quote_spanned!(ty.span() => <#ty as ::oxshmem_device::__private::SharedField>::ENGINE));
        handles.push(quote!(#(#attrs)* #vis #ident: #handle));
        // 16 bytes' alignment lets any field be copied by vector accesses.
        offsets.push(quote! {
            at = (at + 15) & !15;
            offsets[#index] = at as u32;
            at += ::core::mem::size_of::<#ty>();
        });
        makers.push(quote! {
            #ident: <#ty as ::oxshmem_device::__private::SharedField>::handle(Self::OFFSETS[#index], shmem)
        });
    }
    let count = fields.named.len();
    Ok(quote! {
        #(#attributes)*
        #[derive(Debug)]
        #visibility struct #name { #(#handles,)* }

        impl #name {
            const LAID_OUT: ([u32; #count], u32) = {
                let mut offsets = [0u32; #count];
                let mut at = 0usize;
                #(#offsets)*
                ::core::assert!(at <= 227 * 1024, "a block has at most 227 KiB of shared memory");
                (offsets, at as u32)
            };
            const OFFSETS: [u32; #count] = Self::LAID_OUT.0;

            /// Size in bytes.
            #visibility const BYTES: u32 = Self::LAID_OUT.1;

            /// Whether the bulk copy engine reads or writes any of it.
            #[doc(hidden)]
            #visibility const ENGINE: bool = false #(|| #engines)*;

            /// Handles to the fields, in the block's shared memory. The kernel must name this layout
            /// (`#[nvshmem_kernel(shared = …)]`), so that the launch provides it; else it ends with an error.
            #[inline(always)]
            #visibility fn of(context: impl ::oxshmem_device::__private::KernelContext) -> Self {
                let shmem = context.shmem();
                ::oxshmem_device::__private::base_of(shmem, Self::BYTES, Self::ENGINE);
                Self { #(#makers,)* }
            }
        }
    })
}
