use super::*;

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

/// x, y, z and layers of spacepoints anywhere.
fn random(count: usize) -> ([Vec<f64>; 3], Vec<u32>) {
    let mut rng = fastrand::Rng::with_seed(count as u64);
    let mut column = |size: f64| -> Vec<f64> { (0..count).map(|_| size * (rng.f64() - 0.5)).collect() };
    let columns = [column(1e3), column(1e3), column(4e3)];
    (columns, (0..count).map(|i| if i % 50 == 49 { 300 } else { i as u32 % 19 }).collect())
}

#[test]
fn columns_give_the_bits_of_records() {
    for count in [0, 1, BLOCK - 1, BLOCK, 3 * BLOCK + 7, 70_001] {
        let ([x, y, z], layer) = random(count);
        let spacepoints: Vec<_> = (0..count).map(|i| Spacepoint::from_xyz(x[i], y[i], z[i], layer[i])).collect();
        let (rho, phi): (Vec<_>, Vec<_>) = spacepoints.iter().map(|s| (s.rho, s.phi)).unzip();
        for new in [RoiBatch::new, RoiBatch::with_f32] {
            let (mut records, mut cartesian, mut cylindrical) = (new(), new(), new());
            for _ in 0..2 {
                records.push(RoiDescriptor::default(), spacepoints.iter().copied());
                let columns = Columns::cartesian(&x, &y, &z, &layer).expect("equal lengths");
                cartesian.push_columns(RoiDescriptor::default(), columns);
                let columns = Columns::cylindrical(&rho, &phi, &z, &layer).expect("equal lengths");
                cylindrical.push_columns(RoiDescriptor::default(), columns);
            }
            assert_eq!(records, cartesian, "{count}");
            assert_eq!(records, cylindrical, "{count}");
        }
    }
}

#[test]
fn offsets_divide_columns_into_rois() {
    let ([x, y, z], layer) = random(10);
    let columns = || Columns::cartesian(&x, &y, &z, &layer).expect("equal lengths");
    let rois = [RoiDescriptor::default(); 3];
    let mut batch = RoiBatch::new();
    for _ in 0..2 {
        batch.extend_columns(&rois, &[0u32, 4, 4, 10], columns()).expect("good offsets");
    }
    let sizes: Vec<usize> = batch.iter().map(|roi| roi.len()).collect();
    assert_eq!(sizes, [4, 0, 6, 4, 0, 6]);
    assert_eq!(batch.roi(5).spacepoint(0), Spacepoint::from_xyz(x[4], y[4], z[4], layer[4]));
    let before = batch.clone();
    let mut refused = |rois: &[RoiDescriptor], offsets: &[i64], words: &str| {
        let error = batch.extend_columns(rois, offsets, columns()).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(batch, before, "{words}");
    };
    refused(&rois, &[0, 4, 10], "3 offsets for 3 RoIs");
    refused(&rois, &[], "0 offsets for 3 RoIs");
    refused(&rois, &[1, 4, 4, 10], "offset 0");
    refused(&rois, &[0, 4, 3, 10], "offset 2");
    refused(&rois, &[0, -1, 3, 10], "offset 1");
    refused(&rois, &[0, 4, 4, 11], "the last offset is 11");
    refused(&[], &[0], "the last offset is 0");
}

#[test]
fn columns_of_different_lengths_are_refused() {
    let error = Columns::cylindrical(&[1.0f32, 2.0], &[1.0, 2.0], &[1.0], &[0u8, 1]).expect_err("z is short");
    assert_eq!(error.to_string(), "columns of spacepoints: z has 1 elements and layer has 2");
}
