//! What `[review] capacity` does to a day: how many reviews are open at most, and how much work lands, compared with no limit.
//! Deterministic. Prints the table of the guide on reviews: `cargo bench --bench reviews`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a measuring program")]

#[path = "reviews/simulation.rs"]
mod simulation;

use simulation::{Day, run};

/// The numbers of agents in the table.
const AGENTS: [usize; 5] = [2, 3, 5, 10, 20];

fn main() {
    let heads: Vec<String> = AGENTS.iter().map(|agents| format!("{agents} agents")).collect();
    println!("| capacity | {} |", heads.join(" | "));
    println!("|---|{}", "---|".repeat(AGENTS.len()));
    for capacity in 0..=8 {
        let cell = |agents: &usize| {
            let (free, limited) = (run(Day::of(*agents, 0)), run(Day::of(*agents, capacity)));
            format!("{} % ({})", limited.landed * 100 / free.landed.max(1), limited.most_open)
        };
        let name = if capacity == 0 { "none".to_owned() } else { capacity.to_string() };
        println!("| {name} | {} |", AGENTS.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
    let mut worst = [100; 9];
    for agents in 2..=20 {
        let free = run(Day::of(agents, 0)).landed;
        for (capacity, worst) in (1..=8).zip(&mut worst[1..]) {
            let limited = run(Day::of(agents, capacity));
            let bound = usize::try_from(capacity).unwrap() + agents;
            assert!(limited.most_open <= bound, "{agents} agents, capacity {capacity}: {}", limited.most_open);
            *worst = (*worst).min(limited.landed * 100 / free.max(1));
        }
    }
    let least: Vec<String> = (1..=8).map(|capacity| format!("{capacity}: {} %", worst[capacity])).collect();
    println!("\nThe least of 2 to 20 agents, by capacity: {}", least.join(", "));
}
