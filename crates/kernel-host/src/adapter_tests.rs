use super::*;

fn summary(index: usize, name: &str, kind: AdapterKind, vendor: u32, device: u32) -> AdapterSummary {
    AdapterSummary {
        index,
        name: name.to_owned(),
        kind,
        backend: "vulkan".to_owned(),
        vendor,
        device,
        driver: format!("driver of {name}"),
        shader_f64: true,
        timestamps: true,
        subgroups: false,
        workgroup_memory: 32768,
        max_binding: 128 << 20,
    }
}

fn machine() -> Vec<AdapterSummary> {
    vec![
        summary(0, "llvmpipe (LLVM 15)", AdapterKind::Software, 0x10005, 0),
        summary(1, "Intel UHD", AdapterKind::IntegratedGpu, 0x8086, 0x9a49),
        summary(2, "NVIDIA H200", AdapterKind::DiscreteGpu, 0x10de, 0x2335),
        summary(3, "NVIDIA L4", AdapterKind::DiscreteGpu, 0x10de, 0x27b8),
    ]
}

fn parse(text: &str) -> AdapterChoice {
    text.parse().unwrap_or_else(|never| match never {})
}

#[test]
fn choices_are_read() {
    let pci = |vendor, device| AdapterChoice::Pci { vendor, device };
    let name = |text: &str| AdapterChoice::Name(text.to_owned());
    assert_eq!(parse(""), AdapterChoice::Hardware);
    assert_eq!(parse(" 2 "), AdapterChoice::Index(2));
    assert_eq!(parse("all"), AdapterChoice::All);
    assert_eq!(parse("10de:2335"), pci(0x10de, Some(0x2335)));
    assert_eq!(parse("0x10DE:"), pci(0x10de, None));
    for text in ["llvmpipe", "10de", "-1", "+10de:", "10de:+1", ":2335", ":", "NVIDIA: H200", "123456789:"] {
        assert_eq!(parse(text), name(text));
    }
    assert_eq!(parse("99999999999999999999999"), name("99999999999999999999999"));
}

/// Returns the only picked position.
fn one(picked: Vec<usize>) -> Option<usize> {
    assert!(picked.len() <= 1, "{picked:?}");
    picked.first().copied()
}

#[test]
fn choices_pick_what_they_say() {
    let machine = machine();
    let pick = |text: &str| one(parse(text).pick(&machine));
    assert_eq!(pick(""), Some(2), "discrete before integrated, first before second");
    assert_eq!(pick("3"), Some(3));
    assert_eq!(pick("4"), None);
    assert_eq!(pick("nvidia"), Some(2));
    assert_eq!(pick("DRIVER OF INTEL"), Some(1));
    assert_eq!(pick("llvmpipe"), Some(0), "software when it is named");
    assert_eq!(pick("10de:"), Some(2));
    assert_eq!(pick("10de:27b8"), Some(3));
    assert_eq!(pick("1002:"), None);
    assert_eq!(AdapterChoice::Name("  ".to_owned()).pick(&machine), []);
    assert_eq!(AdapterChoice::Hardware.pick(&machine[..2]), [1]);
    assert_eq!(AdapterChoice::Hardware.pick(&machine[..1]), [], "never software");
    assert_eq!(AdapterChoice::Hardware.pick(&[]), []);
}

#[test]
fn all_is_every_hardware_gpu_once() {
    let all = |machine: &[AdapterSummary]| AdapterChoice::All.pick(machine);
    let mut machine = machine();
    assert_eq!(all(&machine), [2, 3, 1], "discrete before integrated, and no software");
    assert_eq!(all(&machine[..1]), []);
    // Another of the same model, then both through another backend, and the integrated one through
    // another driver.
    machine.push(summary(4, "NVIDIA H200", AdapterKind::DiscreteGpu, 0x10de, 0x2335));
    for index in 5..7 {
        let again = summary(index, "NVIDIA H200", AdapterKind::DiscreteGpu, 0x10de, 0x2335);
        machine.push(AdapterSummary { backend: "dx12".to_owned(), ..again });
    }
    let again = summary(7, "Intel UHD", AdapterKind::IntegratedGpu, 0x8086, 0x9a49);
    machine.push(AdapterSummary { driver: "another".to_owned(), ..again });
    assert_eq!(all(&machine), [2, 3, 4, 1]);
}

#[test]
fn the_error_lists_what_there_is() {
    let text = Error::NoAdapter { wanted: AdapterChoice::Hardware.to_string(), candidates: machine()[..2].to_vec() }
        .to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].contains("hardware"), "{text}");
    for part in ["[1]", "Intel UHD", "integrated GPU", "vulkan", "8086:9a49", "32 KiB", "128 MiB", "f64"] {
        assert!(lines[2].contains(part), "{part} in {text}");
    }
    for part in ["index", "name", "PCI", "WGPU_ADAPTER_NAME"] {
        assert!(lines[3].contains(part), "{part} in {text}");
    }
    let none = Error::NoAdapter { wanted: parse("7").to_string(), candidates: Vec::new() };
    assert!(none.to_string().contains("no adapters at all"), "{none}");
    assert!(none.to_string().contains("number 7"), "{none}");
}

#[test]
fn backends_are_known_or_an_error() {
    use wgpu::Backends as B;
    assert_eq!(parse_backends("vulkan").expect("known"), B::VULKAN);
    assert_eq!(parse_backends(" Metal, dx12").expect("known"), B::METAL | B::DX12);
    for list in ["vulkn", "vulkan,", "vulkan;metal"] {
        let error = parse_backends(list).expect_err(list);
        assert!(matches!(error, Error::BadEnvironment { variable: "WGPU_BACKEND", .. }), "{error}");
        assert!(error.to_string().contains(list), "{error}");
    }
}
