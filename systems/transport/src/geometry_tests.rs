use super::*;

fn mesh(geometry: &Geometry) -> Mesh {
    Mesh::new(geometry).expect("a valid geometry")
}

#[test]
fn positions_have_cells() {
    let mesh = mesh(&Geometry::default());
    let cell = |place: [f64; 3]| {
        let cell = mesh.locate(place);
        (cell.ring(), cell.layer(), cell.sector())
    };
    assert_eq!(cell([1.0, 1.0, 0.0]), (0, 2, 0));
    assert_eq!(cell([-1400.0, 3.0, -2999.0]), (1, 1, 1));
    assert_eq!(cell([-1400.0, -3.0, 3001.0]), (1, 4, 2));
    assert_eq!(cell([5001.0, -3.0, -3001.0]), (2, 0, 3));
    for place in [[9000.1, 0.0, 0.0], [0.0, 0.0, -16_000.0], [f64::NAN, 0.0, 0.0], [0.0, f64::INFINITY, 0.0]] {
        assert_eq!(mesh.locate(place), Cell::OUTSIDE);
    }
    assert_eq!(mesh.material(mesh.locate([0.0, 1300.0, 999.0])), 1);
    for place in [[0.0, 9.0, 0.0], [0.0, 1300.0, 3000.1], [5000.1, 0.0, 0.0], [1e5, 0.0, 0.0]] {
        assert_eq!(mesh.material(mesh.locate(place)), 0);
    }
}

/// A box in a cylinder in a box, with layers of two materials.
fn nested() -> Geometry {
    let volume = |shape, z: [f64; 2], material| Volume { shape, z, material };
    let (core, tube) = (Shape::Box { half: [30.0, 50.0] }, Shape::Tube { inner: 100.0, outer: 400.0 });
    Geometry {
        world: [500.0, 600.0, 700.0],
        sectors: 1,
        materials: vec![Material::lead_tungstate(), Material::mixture("lead", 11.35, &[("Pb", 1.0)]).expect("lead")],
        volumes: vec![
            volume(tube, [-300.0, 300.0], Some(0)),
            volume(core, [-200.0, 0.0], Some(1)),
            volume(Shape::Box { half: [420.0, 440.0] }, [400.0, 410.0], Some(1)),
            volume(tube, [0.0, 10.0], None),
        ],
    }
}

#[test]
fn later_volumes_override_earlier_ones() {
    let mesh = mesh(&nested());
    for (place, material) in [
        ([200.0, 0.0, -100.0], 1),
        ([0.0, 0.0, -100.0], 2),
        ([60.0, 0.0, -100.0], 0),
        ([200.0, 0.0, 5.0], 0),
        ([200.0, 0.0, 405.0], 2),
        ([0.0, 430.0, 405.0], 2),
        ([430.0, 0.0, 405.0], 0),
    ] {
        assert_eq!(mesh.material(mesh.locate(place)), material, "{place:?}");
    }
}

/// Follows lines through the world: each cell ends where the next one begins, and contains the
/// points between.
fn cross<T: Number>(geometry: &Geometry, within: f64, rng: &mut fastrand::Rng) {
    let mesh = mesh(geometry);
    let bounds = Bounds::<T>::new(&mesh);
    let mut between = |low: f64, high: f64| low + rng.f64() * (high - low);
    for _ in 0..400 {
        let [x, y, z] = geometry.world;
        let scale = if between(0.0, 1.0) < 0.3 { 0.002 } else { 0.99 };
        let mut place = [between(-x, x) * scale, between(-y, y) * scale, between(-z, z)];
        let mut direction = [between(-1.0, 1.0), between(-1.0, 1.0), between(-1.0, 1.0)];
        let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
        direction = direction.map(|d| d / length);
        let mut cell = mesh.locate(place);
        let mut cells = 0;
        while cell != Cell::OUTSIDE {
            let exit = bounds.exit(cell, place.map(T::of), direction.map(T::of));
            let distance: f64 = exit.distance.into();
            let middle = std::array::from_fn(|i| place[i] + 0.5 * distance * direction[i]);
            // Lines may cut the corner of a box.
            if distance > within.max(3.0 * ENTRY_TOLERANCE) {
                assert_eq!(mesh.locate(middle), cell, "{}: {place:?} {direction:?}", T::PRECISION);
            }
            place = std::array::from_fn(|i| place[i] + distance * direction[i]);
            cell = exit.to;
            cells += 1;
            assert!(cells < 200, "{}: goes nowhere", T::PRECISION);
        }
        let off = (0..3).map(|i| place[i].abs() - geometry.world[i]).fold(f64::NEG_INFINITY, f64::max);
        assert!(off.abs() < within, "{}: {off} mm from the side", T::PRECISION);
    }
}

#[test]
fn lines_cross_the_world_cell_by_cell() {
    let mut rng = fastrand::Rng::with_seed(5);
    let odd = Geometry::tubes([10.0, 5000.0], 3000.0, 7, 5);
    for geometry in [Geometry::default(), odd, Geometry::tubes([300.0, 600.0], 3000.0, 1, 1), nested()] {
        cross::<f64>(&geometry, 1e-6, &mut rng);
        cross::<f32>(&geometry, 0.02, &mut rng);
    }
}

#[test]
fn invalid_geometries_are_errors() {
    let message = |geometry: Geometry| geometry.check().expect_err("invalid").to_string();
    let usual = Geometry::default;
    assert!(message(Geometry::tubes([10.0, 10.05], 3000.0, 1, 1)).contains("less than 0.1 mm apart"));
    assert!(message(Geometry::tubes([f64::NAN, 10.5], 3000.0, 1, 1)).contains("radii from NaN"));
    assert!(message(Geometry { world: [4000.0, 9000.0, 16_000.0], ..usual() }).contains("cross"));
    assert!(message(Geometry { world: [9000.0, 9000.0, 2000.0], ..usual() }).contains("does not contain"));
    assert!(message(Geometry::tubes([10.0, 5000.0], 3000.0, 300, 1)).contains("302 layers"));
    assert!(message(Geometry { sectors: 64, ..usual() }).contains("64 sectors"));
    let mut without = usual();
    without.materials.clear();
    assert!(message(without).contains("no material 0"));
    let mut crossing = nested();
    crossing.volumes[1].shape = Shape::Box { half: [30.0, 150.0] };
    assert!(message(crossing).contains("cross"));
}
