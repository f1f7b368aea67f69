//! What a non-blocking operation gives back.
//!
//! | gives | of | completed by |
//! |---|---|---|
//! | [`Pending`] | symmetric and local device memory, which is shared by nature | the next `flush` or `quiet` of the scope that covers it, or a barrier |
//! | [`PutRequest`] | memory of the block that a put reads | its own `flush` or `quiet`, which give the memory back |
//! | [`GetRequest`] | memory of the block, or values, that a get brings | its own `quiet`, which gives them out |
//!
//! A request that is dropped waits for what the dropping thread itself has started, and the memory is not given back.
//! One that is forgotten leaves it in use for good: no reference can reach it.

use crate::arch::bulk;
use crate::context::Context;
use crate::scope::{Scope, Scoped};
use crate::shared::SharedSlice;
use crate::tile::Tile;
use bytemuck::Pod;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

/// A non-blocking operation between symmetric and local device memory: the next [`quiet`](Scoped::quiet) of the scope
/// completes it, and [`flush`](Scoped::flush) a put's source; so does a barrier. Until then its memory is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending;

impl Pending {
    #[inline(always)]
    pub(super) fn of<B>(_: B) -> Self {
        Self
    }
}

/// A non-blocking put that reads memory of the block.
#[must_use = "the put's source is in use until `flush` or `quiet` of this request gives it back"]
#[derive(Debug)]
pub struct PutRequest<B, S> {
    source: ManuallyDrop<B>,
    scope: PhantomData<fn(S)>,
}

impl<B, S: Scope> PutRequest<B, S> {
    #[inline(always)]
    pub(super) fn new(source: B) -> Self {
        Self { source: ManuallyDrop::new(source), scope: PhantomData }
    }

    /// Gives the source back as soon as it may be reused. Says nothing of the target. All threads of the scope that
    /// issued the put call it.
    #[inline(always)]
    #[track_caller]
    pub fn flush<C: Context>(self, scope: Scoped<S, C>) -> B {
        scope.flush();
        self.into_source()
    }

    /// Gives the source back when the data is visible at its target, and all else that the scope did before: this is
    /// [`quiet`](Scoped::quiet). All threads of the scope that issued the put call it.
    #[inline(always)]
    #[track_caller]
    pub fn quiet<C: Context>(self, scope: Scoped<S, C>) -> B {
        scope.quiet();
        self.into_source()
    }

    #[inline(always)]
    fn into_source(self) -> B {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped and not used again.
        unsafe { ManuallyDrop::take(&mut this.source) }
    }
}

impl<B, S> Drop for PutRequest<B, S> {
    #[inline(always)]
    fn drop(&mut self) {
        bulk::wait_reads();
    }
}

/// A non-blocking get that brings values, or writes memory of the block.
#[must_use = "what the get brings is there after `quiet` of this request"]
#[derive(Debug)]
pub struct GetRequest<V: Landing<S>, S> {
    value: ManuallyDrop<V>,
    scope: PhantomData<fn(S)>,
}

/// What a [`GetRequest`] holds.
pub trait Landing<S> {
    /// Waits, with the scope, until it is there.
    #[doc(hidden)]
    fn land<C: Context>(&mut self, scope: Scoped<S, C>);
    /// Waits for what the calling thread has started.
    #[doc(hidden)]
    fn abandon(&mut self);
}

/// Loads into registers: whoever uses the value waits for it.
impl<T: Pod, S> Landing<S> for T {
    #[inline(always)]
    fn land<C: Context>(&mut self, _: Scoped<S, C>) {}
    #[inline(always)]
    fn abandon(&mut self) {}
}
impl<T: Pod, S: Scope> Landing<S> for SharedSlice<T> {
    #[inline(always)]
    fn land<C: Context>(&mut self, scope: Scoped<S, C>) {
        scope.meet();
    }
    #[inline(always)]
    fn abandon(&mut self) {}
}
impl<T: Pod, S: Scope> Landing<S> for Tile<T, S> {
    #[inline(always)]
    fn land<C: Context>(&mut self, scope: Scoped<S, C>) {
        self.loaded(scope);
    }
    #[inline(always)]
    fn abandon(&mut self) {
        Tile::abandon(self);
    }
}

impl<V: Landing<S>, S> GetRequest<V, S> {
    #[inline(always)]
    pub(super) fn new(value: V) -> Self {
        Self { value: ManuallyDrop::new(value), scope: PhantomData }
    }

    /// Gives out what the get brought, which the whole scope then sees. It completes nothing else. All threads of the
    /// scope that issued the get call it.
    ///
    /// Does not return if the deadline passes.
    #[inline(always)]
    pub fn quiet<C: Context>(self, scope: Scoped<S, C>) -> V {
        let mut this = ManuallyDrop::new(self);
        this.value.land(scope);
        // SAFETY: `this` is not dropped and not used again.
        unsafe { ManuallyDrop::take(&mut this.value) }
    }
}

impl<V: Landing<S>, S> Drop for GetRequest<V, S> {
    #[inline(always)]
    fn drop(&mut self) {
        self.value.abandon();
    }
}
