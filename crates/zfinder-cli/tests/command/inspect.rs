//! Tests of `zfinder inspect`.

use super::common::{failed, sample, succeeded, zfinder};

#[test]
fn the_plan_of_each_part_names_its_kernels() {
    let events = sample("zee7_mu2");
    for adapter in zfinder::gpu::adapters().expect("the list of adapters") {
        let index = adapter.index.to_string();
        let plan = |options: &[&str]| {
            let arguments = [&["inspect", "--plan", "--adapter", &index, &events], options].concat();
            succeeded(zfinder(&arguments))
        };
        let staged = plan(&["--preset", "default"]);
        let kernels: Vec<usize> = ["part 0:", "slice_spacepoints", "find_z", "sum_histos", "find_peaks"]
            .iter()
            .map(|name| staged.find(&format!(" {name} ")).or(staged.find(name)).unwrap_or_else(|| panic!("{staged}")))
            .collect();
        assert!(kernels.is_sorted(), "{staged}");
        assert!(staged.contains("RoIs: 20; parts: 1") && staged.contains(&adapter.name), "{staged}");
        assert!(plan(&["--event", "3"]).contains("RoIs: 1; parts: 1"));
        assert!(plan(&["--design", "thesis"]).contains("rows of pairs by slices: 1;"));
    }
    failed(
        &zfinder(&["inspect", "--plan", "--engine", "cpu", &events]),
        2,
        &["no parts of batches", "--adapter INDEX"],
    );
}
