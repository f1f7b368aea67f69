//! What a broken schedule does must be seen: each test breaks one step of a correct one.

use super::super::{Grid, HierarchicalRing, Pipeline, Ring, Schedule, Shape, Step, Tree, Value};
use super::run::{Order, Promise, Run};

/// A schedule with steps changed.
#[derive(Clone, Copy)]
struct Broken<S> {
    schedule: S,
    pe: u32,
    change: fn(u32, u32, Step) -> Option<Step>,
    slots: u32,
}

impl<S: Schedule> Schedule for Broken<S> {
    fn steps(self) -> u32 {
        self.schedule.steps()
    }
    fn step(self, index: u32) -> Option<Step> {
        (self.change)(self.pe, index, self.schedule.step(index)?)
    }
    fn shape(self) -> Shape {
        Shape { slots: self.schedule.shape().slots - self.slots, ..self.schedule.shape() }
    }
    fn sent(self, credit: u32) -> u32 {
        self.schedule.sent(credit)
    }
}

const PIPELINE: Pipeline = Pipeline { rounds: 9, depth: 2, lag: 1, slots: 0 };

/// What is seen of `change`, by some interleaving, on a ring, a tree and a hierarchical ring of 12 PEs.
fn seen(change: fn(u32, u32, Step) -> Option<Step>) -> [String; 3] {
    fn run<S: Schedule>(schedule: impl Fn(u32) -> S, change: fn(u32, u32, Step) -> Option<Step>) -> String {
        let orders = [Order::InTurn, Order::Seeded(1), Order::Seeded(2), Order::Seeded(3)];
        let broken = |pe| Broken { schedule: schedule(pe), pe, change, slots: 0 };
        let found = orders.iter().find_map(|&order| {
            Run::new(12, Promise::AllReduce, broken).and_then(|run| run.check(order)).err()
        });
        found.unwrap_or_else(|| "nothing".to_owned())
    }
    let grid = Grid::new(3, 4).expect("12 PEs");
    [
        run(|pe| Ring::all_reduce(grid, pe, 0, PIPELINE), change),
        run(|pe| Tree::all_reduce(grid, pe, 0, PIPELINE), change),
        run(|pe| HierarchicalRing::all_reduce(grid, pe, PIPELINE), change),
    ]
}

#[test]
fn nothing_is_seen_of_no_change() {
    assert_eq!(seen(|_, _, step| Some(step)), ["nothing"; 3]);
}

#[test]
fn a_wrong_neighbour_is_seen() {
    let found = seen(|pe, _, mut step| {
        if let Some(send) = &mut step.send
            && pe == 5
        {
            send.to = (send.to + 1) % 12;
        }
        Some(step)
    });
    assert!(found.iter().all(|why| why != "nothing"), "{found:?}");
}

#[test]
fn a_missing_credit_is_seen() {
    let found = seen(|_, _, mut step| {
        if let Some(send) = &mut step.send {
            send.needs = 0;
        }
        Some(step)
    });
    assert!(found.iter().all(|why| why.contains("overwritten before it is read")), "{found:?}");
}

#[test]
fn a_credit_too_early_by_one_is_seen() {
    let found = seen(|_, _, mut step| {
        if let Some(send) = &mut step.send {
            send.needs = send.needs.saturating_sub(1);
        }
        Some(step)
    });
    assert!(found.iter().all(|why| why.contains("overwritten before it is read")), "{found:?}");
}

/// A final chunk is passed on with the own source added once more.
#[test]
fn a_source_that_is_there_twice_is_seen() {
    let found = seen(|_, _, mut step| {
        if step.value == Value::Final && step.receive.is_some() && step.send.is_some() {
            step.value = Value::ReceivedAndSource;
        }
        Some(step)
    });
    assert!(found.iter().take(2).all(|why| why.contains("in both operands")), "{found:?}");
    assert_ne!(found[2], "nothing");
}

#[test]
fn a_chunk_that_is_sent_twice_in_place_of_another_is_seen() {
    let found = seen(|pe, _, mut step| {
        if step.send.is_some() && pe == 1 && step.chunk == 1 {
            step.chunk = 0;
        }
        Some(step)
    });
    assert!(found.iter().all(|why| why != "nothing"), "{found:?}");
}

#[test]
fn a_missing_step_is_seen() {
    let found = seen(|_, _, step| if step.receive.is_some() && step.chunk == 1 { None } else { Some(step) });
    assert!(found.iter().all(|why| why != "nothing"), "{found:?}");
}

#[test]
fn too_few_slots_end_in_a_deadlock() {
    let grid = Grid::new(1, 6).expect("6 PEs");
    // One slot less than the least: numbers and needs are as with `depth` slots.
    let fewer = |pe| {
        let schedule = Ring::all_reduce(grid, pe, 0, Pipeline { rounds: 2, depth: 1, lag: 0, slots: 2 });
        let change = |_, _, mut step: Step| {
            if let Some(send) = &mut step.send {
                (send.slot, send.needs) = (0, send.number - 1);
            }
            if let Some(receive) = &mut step.receive {
                receive.slot = 0;
            }
            Some(step)
        };
        Broken { schedule, pe, change, slots: 1 }
    };
    let found = Run::new(6, Promise::AllReduce, fewer).and_then(|run| run.check(Order::InTurn));
    assert!(found.as_ref().is_err_and(|why| why.contains("deadlock")), "{found:?}");
}
