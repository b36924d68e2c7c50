use super::*;

#[test]
fn windows_wrap_and_refuse() {
    assert_eq!(PhiWindow::edges(-0.5, 0.5), (-0.5, 1.0));
    let (low, width) = PhiWindow::edges(3.0, -3.0);
    assert_eq!(low, 3.0);
    approx::assert_relative_eq!(width, TAU - 6.0, epsilon = 1e-12);
    for (low, high) in [(1.0, 1.0), (f64::NAN, 1.0), (-10.0, 30.0), (-4.0, 4.0)] {
        assert!(PhiWindow::new(low, high).is_err(), "[{low}, {high}]");
    }
    assert!(PhiWindow::new(-PI, PI).is_ok());
    assert!(PhiWindow::new(6.0, 7.0).is_err(), "edges beyond 2 pi are degrees or a mistake");
}

#[test]
fn phi_is_turned_only_when_it_must() {
    assert_eq!(normalised(PI), PI);
    assert_eq!(normalised(-PI), -PI);
    approx::assert_relative_eq!(normalised(3.0 * PI / 2.0), -PI / 2.0, epsilon = 1e-12);
    approx::assert_relative_eq!(normalised(-100.0), (-100.0f64).sin().atan2((-100.0f64).cos()), epsilon = 1e-12);
}

#[test]
fn a_batch_gives_back_what_was_pushed() {
    let mut batch = RoiBatch::new();
    let points = [Spacepoint::from_xyz(3.0, 4.0, 1.0, 2), Spacepoint::from_xyz(0.0, 2.0, -1.0, 0)];
    batch.push(RoiDescriptor::default(), points);
    batch.push(RoiDescriptor::default(), []);
    assert_eq!((batch.len(), batch.count_spacepoints()), (2, 2));
    assert_eq!(batch.roi(0).spacepoints().collect::<Vec<_>>(), points);
    assert!(batch.roi(1).is_empty());
    assert_eq!(points[0].rho, 5.0);
    let memory = batch.layer.capacity();
    batch.clear();
    assert_eq!((batch.len(), batch.count_spacepoints(), batch.layer.capacity()), (0, 0, memory));
    assert_eq!(batch, RoiBatch::new());
}

#[test]
fn a_batch_is_split_where_spacepoints_are_even() {
    let batch = |sizes: &[usize]| {
        let mut batch = RoiBatch::new();
        for &size in sizes {
            batch.push(RoiDescriptor::default(), vec![Spacepoint::from_xyz(3.0, 4.0, 1.0, 2); size]);
        }
        batch
    };
    let split = |sizes: &[usize], parts| {
        batch(sizes).split(parts).into_iter().map(|part| (part.start, part.len())).collect::<Vec<_>>()
    };
    assert_eq!(split(&[5, 5, 5, 5], 2), [(0, 2), (2, 2)]);
    assert_eq!(split(&[100, 1, 1], 2), [(0, 1), (1, 2)]);
    assert_eq!(split(&[1, 1, 100], 2), [(0, 2), (2, 1)]);
    assert_eq!(split(&[1, 100, 1], 3).iter().map(|part| part.1).sum::<usize>(), 3);
    assert_eq!(split(&[7], 4), [(0, 1)]);
    assert_eq!(split(&[0, 0], 2).iter().map(|part| part.1).sum::<usize>(), 2);
    assert_eq!(split(&[], 3), []);
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..200 {
        let sizes: Vec<usize> = (0..rng.usize(0..40)).map(|_| rng.usize(0..100)).collect();
        let parts = rng.usize(1..6);
        let (split, all) = (split(&sizes, parts), sizes.iter().sum::<usize>());
        assert!(split.len() <= parts && split.iter().all(|part| part.1 > 0));
        let mut next = 0;
        for &(first, count) in &split {
            assert_eq!(first, next, "{sizes:?}");
            next = first + count;
            assert!(sizes[first..next].iter().sum::<usize>() <= all / parts + 101, "{sizes:?}");
        }
        assert_eq!(next, sizes.len());
    }
}
