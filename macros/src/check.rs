//! `#[check_test]`: a test that runs under the checker.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, ItemFn, Lit, LitInt, LitStr, Token};

struct Arguments {
    pes: u32,
    seeds: u32,
    profile: LitStr,
}

struct Argument {
    name: Ident,
    value: Lit,
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![=]>()?;
        Ok(Self { name, value: input.parse()? })
    }
}

fn positive(value: &Lit) -> syn::Result<u32> {
    let number = |literal: &LitInt| literal.base10_parse::<u32>().ok().filter(|&number| number > 0);
    match value {
        Lit::Int(literal) => number(literal),
        _ => None,
    }
    .ok_or_else(|| syn::Error::new_spanned(value, "a number from 1 to 4294967295 is needed, in digits"))
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let profile = LitStr::new("oxshmem", proc_macro2::Span::call_site());
        let mut all = Self { pes: 2, seeds: 200, profile };
        let mut seen: Vec<Ident> = Vec::new();
        for Argument { name, value } in Punctuated::<Argument, Token![,]>::parse_terminated(input)? {
            if seen.contains(&name) {
                return Err(syn::Error::new_spanned(&name, format!("`{name}` is given twice")));
            }
            seen.push(name.clone());
            match (&*name.to_string(), &value) {
                ("pes", value) => all.pes = positive(value)?,
                ("seeds", value) => all.seeds = positive(value)?,
                ("profile", Lit::Str(text))
                    if ["oxshmem", "openshmem", "mixed", "strict"].contains(&&*text.value()) =>
                {
                    all.profile = text.clone();
                }
                ("profile", value) => {
                    let message = "a profile is \"oxshmem\", \"openshmem\", \"mixed\" or \"strict\"";
                    return Err(syn::Error::new_spanned(value, message));
                }
                _ => {
                    let message = "`check_test` takes `pes`, `seeds` and `profile`";
                    return Err(syn::Error::new_spanned(name, message));
                }
            }
        }
        Ok(all)
    }
}

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let parsed = syn::parse2::<Arguments>(arguments).and_then(|arguments| {
        let function = syn::parse2::<ItemFn>(item.clone())?;
        if let Some(word) = &function.sig.asyncness {
            return Err(syn::Error::new_spanned(word, "a checked test is not `async`"));
        }
        if function.sig.inputs.len() != 1 {
            let message = "a checked test takes one parameter, `shmem: oxshmem::Shmem`";
            return Err(syn::Error::new_spanned(&function.sig, message));
        }
        Ok((arguments, function))
    });
    let (Arguments { pes, seeds, profile }, function) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let error = error.to_compile_error();
            return quote!(#error #item);
        }
    };
    let ItemFn { attrs, vis, sig, block, .. } = function;
    let (name, inputs, output) = (&sig.ident, &sig.inputs, &sig.output);
    quote! {
        #[::core::prelude::v1::test]
        #(#attrs)*
        #vis fn #name() {
            fn body(#inputs) #output #block
            ::oxshmem::__private::check_test(#pes, #seeds, #profile, body);
        }
    }
}
