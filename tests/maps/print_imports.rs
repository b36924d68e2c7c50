//! Prints the floors of the import graph of a crate, and its circles.
//!
//! ```text
//! cargo run -p zfinder-maps --example imports -- src
//! ```

#![allow(clippy::print_stdout, dead_code, reason = "a program that shares modules with a test")]

mod imports;
mod tree;

use std::path::Path;

use imports::ImportGraph;
use tree::Tree;

fn main() {
    let src = std::env::args().nth(1).unwrap_or_else(|| "src".into());
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the package is two folders below the root");
    let graph = ImportGraph::new(&Tree::read(root), src.trim_end_matches('/'));
    let mut floors: Vec<_> = graph.floors().into_iter().map(|(file, floor)| (floor, file)).collect();
    floors.sort();
    for (floor, file) in floors {
        println!("{floor:>2} {file}");
    }
    let circles = graph.circles();
    for circle in &circles {
        println!("circle: {}", circle.join(" "));
    }
    println!("{} files in {} circles", circles.iter().map(Vec::len).sum::<usize>(), circles.len());
}
