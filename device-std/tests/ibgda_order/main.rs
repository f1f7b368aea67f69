//! The order of the ring's memory accesses, proved by trying all of them: the ring core's own code under loom, with a thread
//! that posts, a NIC as another, and a ring of two blocks that wraps. The edges between threads that post are not tried here.
//!
//! Stress cannot show this: on an H200 the ring worked without any of its fences. Here each edge can be weakened, at run time, by
//! the memory that the ring is given; each weakened ring must be found out.
//!
//! | file | what it holds |
//! |---|---|
//! | `memory` | loom's memory, with weak edges and broken steps |
//! | `nic` | a NIC that waits for doorbells, and one that reads the record early |
//! | `scenes` | what the threads do |

mod memory;
mod nic;
mod scenes;

use memory::Mutant;
use scenes::{SCENES, Scene};
use std::panic::{self, AssertUnwindSafe};

/// What a scene's exploration said, if it was wrong.
fn explore(scene: &Scene, mutant: Option<Mutant>) -> Result<(), String> {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.max_branches = 20_000;
    let run = scene.run;
    let found = panic::catch_unwind(AssertUnwindSafe(|| model.check(move || run(mutant))));
    found.map_err(|why| {
        let text = why.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| why.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
    })
}

#[test]
fn the_ring_as_it_is_is_found_right_and_each_mutant_wrong() {
    for scene in SCENES {
        let before = std::time::Instant::now();
        assert_eq!(explore(scene, None), Ok(()), "{}", scene.name);
        println!("{:<28} right                        {:>6.1} s", scene.name, before.elapsed().as_secs_f64());
    }
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for mutant in Mutant::ALL {
        let caught = SCENES.iter().find_map(|scene| {
            let why = explore(scene, Some(mutant)).err()?;
            Some((scene.name, why))
        });
        match caught {
            Some((scene, why)) => println!("{mutant:<28} caught by {scene:<24} {why}"),
            None => {
                println!("{mutant:<28} MISSED");
                missed.push(mutant);
            }
        }
    }
    panic::set_hook(hook);
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
