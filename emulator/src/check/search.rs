//! What a search does besides: it looks at no state twice, and chooses nothing where there is no choice.

use super::choose::Agents;
use super::engine::{Engine, NOWHERE};
use crate::random::mix;

impl Engine {
    /// In a search, lets the fresh threads come to their next operation, which is no choice. Whether there was one.
    pub(super) fn bring_up(&mut self) -> bool {
        if !self.state().choose.searches() {
            self.fresh.clear();
            return false;
        }
        while let Some(who) = self.fresh.pop() {
            let Some(Some(known)) = self.known.get(who as usize).copied() else { continue };
            if known.fresh && known.at != NOWHERE {
                self.step(who);
                return true;
            }
        }
        false
    }

    /// Whether a search has not met this state before.
    pub(super) fn goes_on(&self, agents: Agents) -> bool {
        let mut run = self.state();
        if !run.choose.searches() || agents.threads + agents.updates <= 1 {
            return true;
        }
        let mut state = run.memory ^ run.words.hash(|event| run.label(event));
        for thread in run.threads.iter().flatten() {
            let runs = self.known[thread.who as usize].map_or(0, |known| u64::from(known.at != NOWHERE));
            let now = u64::from(run.phases[thread.who as usize >> 5]);
            let promised = u64::from(thread.promised.is_some()) << 50 ^ thread.decided << 51;
            let what = mix(u64::from(thread.who) ^ thread.log) ^ promised ^ thread.op.number << 2 ^ runs << 1;
            let line = core::ptr::from_ref(thread.op.location).addr() as u64;
            state = state.wrapping_add(mix(what ^ mix(now) ^ line ^ u64::from(thread.gone)));
        }
        for queue in run.updates.queues() {
            let mut order = 1;
            for update in queue {
                order = mix(order ^ run.label(update.event) ^ update.number ^ update.sources() << 40);
            }
            state = state.wrapping_add(mix(order));
        }
        run.choose.is_new(state)
    }
}
