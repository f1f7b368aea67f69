//! Reads the attribute's arguments and the function, and refuses what cannot be a kernel.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Error, FnArg, GenericParam, Ident, ItemFn, LitInt, LitStr, Pat, ReturnType, Token, Type, parenthesized,
};

/// A checked kernel.
pub(super) struct Kernel<'a> {
    pub(super) function: &'a ItemFn,
    pub(super) arguments: Arguments,
    /// Type of the first parameter.
    pub(super) context: &'a Type,
    /// The other parameters: name and type.
    pub(super) params: Vec<(Ident, &'a Type)>,
    /// Names of the generic type parameters.
    pub(super) generics: Vec<&'a Ident>,
}

/// What stands in the attribute's parentheses.
#[derive(Default)]
pub(super) struct Arguments {
    pub(super) instances: Vec<Vec<Type>>,
    pub(super) shared: Option<Type>,
    pub(super) block: Option<u32>,
    pub(super) max_block: Option<u32>,
    pub(super) min_blocks: Option<u32>,
    pub(super) cluster: Option<[u32; 3]>,
    pub(super) arch: Option<String>,
    pub(super) local: bool,
}

impl Arguments {
    /// Whether the kernel's shared memory has room for the bulk copy engine, as an expression.
    pub(super) fn engine(&self) -> TokenStream {
        match &self.shared {
            Some(layout) => quote_spanned!(layout.span() => <#layout>::ENGINE),
            None => quote!(false),
        }
    }
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut arguments = Self::default();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            match name.to_string().as_str() {
                "instances" => {
                    let list;
                    parenthesized!(list in input);
                    for ty in Punctuated::<Type, Token![,]>::parse_terminated(&list)? {
                        arguments.instances.push(match ty {
                            Type::Tuple(tuple) => tuple.elems.into_iter().collect(),
                            other => vec![other],
                        });
                    }
                }
                "shared" => arguments.shared = Some(value(input)?),
                "block" => arguments.block = Some(number(input, 1, 1024)?),
                "max_block" => arguments.max_block = Some(number(input, 1, 1024)?),
                "min_blocks" => arguments.min_blocks = Some(number(input, 1, 32)?),
                "cluster" => {
                    input.parse::<Token![=]>()?;
                    let list;
                    parenthesized!(list in input);
                    let span = list.span();
                    let sizes: Vec<u32> = Punctuated::<LitInt, Token![,]>::parse_terminated(&list)?
                        .iter()
                        .map(LitInt::base10_parse)
                        .collect::<Result<_, _>>()?;
                    arguments.cluster = Some(<[u32; 3]>::try_from(sizes).map_err(|_| {
                        Error::new(span, "`cluster` takes three sizes: `cluster = (2, 1, 1)`")
                    })?);
                }
                "arch" => arguments.arch = Some(value::<LitStr>(input)?.value()),
                "local" => arguments.local = true,
                other => {
                    return Err(Error::new(
                        name.span(),
                        format!(
                            "`{other}` is not an argument of `#[nvshmem_kernel]`: it takes `instances(…)`, \
                             `shared = Layout`, `block = n`, `max_block = n`, `min_blocks = n`, `cluster = (x, y, z)`, \
                             `arch = \"sm_90a\"`, `local`"
                        ),
                    ));
                }
            }
            if arguments.block.is_some() && arguments.max_block.is_some() {
                return Err(Error::new(name.span(), "`block` and `max_block` exclude each other"));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(arguments)
    }
}

fn value<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

fn number(input: ParseStream<'_>, least: u32, most: u32) -> syn::Result<u32> {
    let literal: LitInt = value(input)?;
    let number: u32 = literal.base10_parse()?;
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    Err(Error::new(literal.span(), format!("expected a number from {least} to {most}, found {number}")))
}

/// Errors found so far.
pub(crate) struct Errors(pub(crate) Option<Error>);

impl Errors {
    pub(crate) fn push(&mut self, span: Span, message: impl std::fmt::Display) {
        let error = Error::new(span, message);
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }
}

impl<'a> Kernel<'a> {
    pub(super) fn parse(arguments: TokenStream, function: &'a ItemFn) -> syn::Result<Self> {
        let mut errors = Errors(None);
        let arguments = syn::parse2::<Arguments>(arguments).unwrap_or_else(|error| {
            errors.0 = Some(error);
            Arguments::default()
        });
        let signature = &function.sig;
        let refused: [(Option<Span>, &str); 5] = [
            (
                signature.asyncness.map(|t| t.span()),
                "a kernel cannot be `async`: it runs to its end on the device",
            ),
            (
                signature.unsafety_span(),
                "a kernel cannot be `unsafe`: its launch is a safe call; put an `unsafe` block around what needs one",
            ),
            (
                signature.abi.as_ref().map(Spanned::span),
                "a kernel is a plain `fn`: the macro makes the device entry, so remove `extern`",
            ),
            (signature.constness.map(|t| t.span()), "a kernel cannot be `const`: remove `const`"),
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
            errors.push(
                ty.span(),
                "a kernel returns nothing: write results to memory (`Sym` or `Global`) and read them on the host",
            );
        }
        let generics = check_generics(function, &arguments, &mut errors);
        let (context, params) = check_inputs(function, &mut errors);
        match (errors.0, context) {
            (None, Some(context)) => Ok(Self { function, arguments, context, params, generics }),
            (Some(errors), _) => Err(errors),
            (None, None) => Err(Error::new(signature.ident.span(), NO_CONTEXT)),
        }
    }
}

const NO_CONTEXT: &str = "the first parameter of a kernel is its context: `shmem: Shmem`, or `shmem: Collective` if the kernel waits";

/// `syn` keeps `unsafe` and `safe` in one place; only `unsafe` matters here.
pub(crate) trait UnsafetySpan {
    fn unsafety_span(&self) -> Option<Span>;
}
impl UnsafetySpan for syn::Signature {
    fn unsafety_span(&self) -> Option<Span> {
        let tokens = quote::ToTokens::to_token_stream(self);
        tokens
            .into_iter()
            .take_while(|t| t.to_string() != "fn")
            .find(|t| t.to_string() == "unsafe")
            .map(|t| t.span())
    }
}

fn check_generics<'a>(function: &'a ItemFn, arguments: &Arguments, errors: &mut Errors) -> Vec<&'a Ident> {
    let mut types = Vec::new();
    for parameter in &function.sig.generics.params {
        match parameter {
            GenericParam::Type(ty) => types.push(&ty.ident),
            GenericParam::Lifetime(lifetime) => {
                errors.push(lifetime.span(), "a kernel has no lifetimes: its parameters are values and handles");
            }
            other => errors.push(
                other.span(),
                "a kernel cannot be generic over a constant: pass the number as a parameter, or write one kernel per value",
            ),
        }
    }
    if !types.is_empty() && arguments.instances.is_empty() {
        let name = types[0];
        errors.push(
            function.sig.generics.span(),
            format!(
                "a generic kernel lists the types it is compiled for: `#[nvshmem_kernel(instances(f32, u64))]` for `{name}`"
            ),
        );
    }
    for instance in &arguments.instances {
        if instance.len() != types.len() {
            errors.push(
                instance.first().map_or(function.sig.ident.span(), Spanned::span),
                format!(
                    "this instance names {} types, the kernel has {} generic parameters: write one type for each",
                    instance.len(),
                    types.len()
                ),
            );
        }
    }
    types
}

/// The name of a type of the standard library that a kernel cannot take, by its last path segment: the trait
/// bound would refuse it too, with a less helpful sentence.
fn host_only(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    let name = path.path.segments.last()?.ident.to_string();
    let refused =
        ["Vec", "String", "Box", "Rc", "Arc", "Option", "Result", "HashMap", "BTreeMap", "bool", "char"];
    refused.contains(&name.as_str()).then_some(name)
}

fn check_inputs<'a>(function: &'a ItemFn, errors: &mut Errors) -> (Option<&'a Type>, Vec<(Ident, &'a Type)>) {
    let mut context = None;
    let mut params = Vec::new();
    if function.sig.inputs.is_empty() {
        errors.push(function.sig.ident.span(), NO_CONTEXT);
    }
    for (position, input) in function.sig.inputs.iter().enumerate() {
        let typed = match input {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => {
                errors.push(receiver.span(), "a kernel is a free function: it cannot take `self`");
                continue;
            }
        };
        let ty = &*typed.ty;
        match ty {
            Type::Reference(_) if position == 0 => {
                errors.push(
                    ty.span(),
                    "the context is passed by value: write `Shmem` or `Collective` without `&`",
                );
                continue;
            }
            Type::Reference(_) => {
                errors.push(
                    ty.span(),
                    "a kernel parameter cannot be a reference: host memory does not exist on the device; pass \
                     `Sym<[T]>` for symmetric memory, `Global<[T]>` for local device memory, or the value itself",
                );
                continue;
            }
            Type::ImplTrait(_) => {
                errors.push(
                    ty.span(),
                    "a kernel parameter has one type: use a generic parameter with `instances(…)`",
                );
                continue;
            }
            Type::Ptr(_) => {
                errors.push(
                    ty.span(),
                    "a kernel parameter cannot be a raw pointer: pass `Global<[T]>` or `Sym<[T]>`",
                );
                continue;
            }
            _ => {}
        }
        if let Some(name) = host_only(ty) {
            errors.push(
                ty.span(),
                format!(
                    "a kernel parameter cannot be a `{name}`: it lives in host memory; pass `Sym<[T]>` for symmetric \
                     memory, `Global<[T]>` for local device memory, or plain data by value (for a flag, `u32`)"
                ),
            );
            continue;
        }
        if position == 0 {
            context = Some(ty);
            continue;
        }
        match &*typed.pat {
            Pat::Ident(name) if name.subpat.is_none() => params.push((name.ident.clone(), ty)),
            Pat::Wild(wild) => params.push((Ident::new(&format!("_{position}"), wild.span()), ty)),
            other => errors.push(other.span(), "a kernel parameter is a plain name"),
        }
    }
    (context, params)
}
