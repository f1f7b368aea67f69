//! Reads the function, and refuses what cannot be a rust-cuda kernel here.

use crate::kernel::parse::{Errors, UnsafetySpan};
use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{FnArg, GenericParam, ItemFn, Pat, ReturnType, Type};

/// A checked kernel.
pub(super) struct Kernel<'a> {
    pub(super) function: &'a ItemFn,
    pub(super) params: Vec<Param<'a>>,
}

/// A parameter.
pub(super) struct Param<'a> {
    pub(super) name: Ident,
    /// The type as it is written.
    ty: &'a Type,
    kind: Kind<'a>,
}

/// What the user's function takes.
enum Kind<'a> {
    /// `&[T]`.
    Slice(&'a Type),
    /// `*const T` or `*mut T`.
    Pointer(&'a Type),
    /// Plain data.
    Value,
}

impl Param<'_> {
    /// The type that travels: a `KernelParam`.
    pub(super) fn carried(&self) -> TokenStream {
        let ty = self.ty;
        match self.kind {
            Kind::Slice(of) | Kind::Pointer(of) => quote_spanned!(of.span() => __oxshmem::Buffer<#of>),
            Kind::Value => quote!(#ty),
        }
    }

    /// The type for which a launch takes an argument.
    pub(super) fn asked(&self) -> TokenStream {
        let ty = self.ty;
        match self.kind {
            Kind::Slice(of) | Kind::Pointer(of) => quote_spanned!(of.span() => __oxshmem::Global<[#of]>),
            Kind::Value => quote!(#ty),
        }
    }

    /// What travels, made from the expression of the asked type.
    pub(super) fn carry(&self, asked: &TokenStream) -> TokenStream {
        match self.kind {
            Kind::Slice(_) | Kind::Pointer(_) => quote!(__oxshmem::Buffer::new(#asked)),
            Kind::Value => quote!(#asked),
        }
    }

    /// What the user's function takes, made from the expression of the carried type; in an `unsafe` block.
    pub(super) fn hand_over(&self, carried: &TokenStream) -> TokenStream {
        match self.kind {
            Kind::Slice(_) => quote!(#carried.as_slice()),
            Kind::Pointer(_) => quote!(#carried.as_ptr()),
            Kind::Value => quote!(#carried),
        }
    }
}

impl<'a> Kernel<'a> {
    pub(super) fn parse(arguments: &TokenStream, function: &'a ItemFn) -> syn::Result<Self> {
        let mut errors = Errors(None);
        let signature = &function.sig;
        if !arguments.is_empty() {
            errors.push(arguments.span(), "`#[kernel]` takes no arguments; `#[nvshmem_kernel(…)]` does");
        }
        if signature.unsafety_span().is_none() {
            errors.push(
                signature.fn_token.span,
                "a rust-cuda kernel is an `unsafe fn`: nobody checks its pointers; `#[nvshmem_kernel]` makes safe kernels",
            );
        }
        let refused = [
            (signature.asyncness.map(|t| t.span()), "a kernel cannot be `async`"),
            (signature.constness.map(|t| t.span()), "a kernel cannot be `const`"),
            (
                signature.abi.as_ref().map(Spanned::span),
                "a kernel is a plain `unsafe fn`: the macro makes the device entry, so remove `extern`",
            ),
            (
                signature.variadic.as_ref().map(Spanned::span),
                "a kernel cannot take a variable number of arguments",
            ),
        ];
        for (span, message) in refused {
            if let Some(span) = span {
                errors.push(span, message);
            }
        }
        if let ReturnType::Type(_, ty) = &signature.output {
            errors.push(ty.span(), "a kernel returns nothing: write results through a pointer");
        }
        for parameter in &signature.generics.params {
            if !matches!(parameter, GenericParam::Lifetime(_)) {
                errors.push(
                    parameter.span(),
                    "a rust-cuda kernel is not generic; `#[nvshmem_kernel(instances(…))]` makes generic kernels",
                );
            }
        }
        let params = function.sig.inputs.iter().enumerate();
        let params = params.filter_map(|(at, input)| param(at, input, &mut errors)).collect();
        match errors.0 {
            None => Ok(Self { function, params }),
            Some(errors) => Err(errors),
        }
    }

    /// What the user's function is called with, where `{carried}` makes each parameter's carried value.
    pub(super) fn call(&self, carried: impl Iterator<Item = TokenStream>) -> TokenStream {
        let name = &self.function.sig.ident;
        let arguments = self.params.iter().zip(carried).map(|(param, carried)| param.hand_over(&carried));
        quote!(#name(#(#arguments),*))
    }
}

fn param<'a>(at: usize, input: &'a FnArg, errors: &mut Errors) -> Option<Param<'a>> {
    let typed = match input {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            errors.push(receiver.span(), "a kernel is a free function: it cannot take `self`");
            return None;
        }
    };
    let name = match &*typed.pat {
        Pat::Ident(name) if name.subpat.is_none() => name.ident.clone(),
        Pat::Wild(wild) => Ident::new(&format!("_{at}"), wild.span()),
        other => {
            errors.push(other.span(), "a kernel parameter is a plain name");
            return None;
        }
    };
    let ty = &*typed.ty;
    let kind = match ty {
        Type::Reference(reference) if reference.mutability.is_some() => {
            errors.push(
                ty.span(),
                "every thread would have this `&mut` at once: take `*mut T`, as rust-cuda kernels do",
            );
            return None;
        }
        Type::Reference(reference) => match &*reference.elem {
            Type::Slice(slice) => Kind::Slice(&slice.elem),
            other => {
                errors.push(
                    other.span(),
                    "of references a kernel here takes slices only: take `&[T]` and give a vector of one element",
                );
                return None;
            }
        },
        Type::Ptr(pointer) => Kind::Pointer(&pointer.elem),
        Type::ImplTrait(_) => {
            errors.push(ty.span(), "a kernel parameter has one type");
            return None;
        }
        _ => Kind::Value,
    };
    Some(Param { name, ty, kind })
}
