use super::*;
use zfinder::results::RoiSummary;
use zfinder::{PhiWindow, RoiBatch, RoiDescriptor, Spacepoint, Vertex};

/// Cases that earlier soaks stopped at: in f32 a pair is on the other side of a cut than in f64.
#[test]
fn roundings_are_no_wrong_answers() {
    let soak = soak();
    let subject = soak.subject(CaseName::HardScatter.into()).expect("a case");
    let rounded = soak.subject(CaseName::HardScatter.into()).expect("a case");
    let rounded = SoakedCase { unrounded: rounded.twin.clone(), ..rounded };
    // A single pair with two confirming layers, which weighs 1; and a possible electron with twelve
    // soft tracks.
    for (others, gev, layers, most) in [(0, 20.0, 4, 1.0), (12, 35.0, 5, 30.0)] {
        let roi_with = |slope: f64, beside: f64| {
            let soft = (0..others).flat_map(|i| track(0.05 + 0.02 * f64::from(i), 0.2, 4.0, 4));
            let mut spacepoints: Vec<Spacepoint> = track(0.01, slope, gev, layers).chain(soft).collect();
            spacepoints[layers - 1].z += beside;
            let window = Some(PhiWindow::new(0.0, 0.5).expect("a window"));
            Roi { descriptor: RoiDescriptor { window, ..RoiDescriptor::default() }, spacepoints }
        };
        // Distance in z [mm] of the outermost spacepoint from its track at which the weight becomes
        // zero.
        let edge = |finder: &ZFinder, slope: f64| {
            let weight = |beside: f64| {
                let found = finder.find(&roi_with(slope, beside)).expect("an answer");
                found.vertices().first().map_or(0.0, |vertex| vertex.weight)
            };
            let (mut within, mut beyond) = (0.0, 50.0);
            assert!(weight(within) >= most && weight(beyond) < most, "{} to {}", weight(within), weight(beyond));
            for _ in 0..50 {
                let middle = 0.5 * (within + beyond);
                (within, beyond) = if weight(middle) >= most { (middle, beyond) } else { (within, middle) };
            }
            within
        };
        // The edge is further out in f32 than in f64.
        let beside = (0..100).find_map(|i| {
            let slope = 0.2 + 1e-3 * f64::from(i);
            let [f32, f64] = [&subject.twin, &subject.unrounded].map(|finder| edge(finder, slope));
            (f32 > f64).then(|| roi_with(slope, 0.5 * (f32 + f64)))
        });
        let Roi { descriptor, spacepoints } = beside.expect("roundings");
        let mut question = RandomBatch { number: 0, batch: RoiBatch::new(), kinds: vec![Kind::Collision] };
        question.batch.push(descriptor, spacepoints);
        let results = subject.finder.find_batch(&question.batch).expect("answers");
        let mut soaked = SoakResult::default();
        soak.check(&subject, &question, &results, &mut soaked).expect("right answers");
        // The verdict must follow from one pair alone.
        let roi = roi_of(question.batch.roi(0));
        let expected = subject.reference.find(&roi).expect("an answer");
        assert_eq!(compare(results.roi(0), expected.roi(0), subject.case.config.z_bin_mm, 0.0), None);
        assert!(!is_as_high(results.roi(0), &subject.reference.inspect(&roi).expect("histograms").histograms));
        assert!(soak.check(&rounded, &question, &results, &mut soaked).is_err(), "f64 has to say so");
    }
}

/// Returns a track from z = 0 at this azimuth and slope, with this many spacepoints.
fn track(phi: f64, slope: f64, gev: f64, layers: usize) -> impl Iterator<Item = Spacepoint> {
    let radii = [50.5, 88.5, 122.5, 299.0, 371.0].into_iter().zip(0..).take(layers);
    // rho / 2R, in 2 T.
    radii.map(move |(rho, layer)| Spacepoint { rho, phi: phi + rho * 0.0003 / gev, z: slope * rho, layer })
}

fn soak() -> Soak<'static> {
    Soak {
        duration: Duration::ZERO,
        seed: 7,
        cases: &[],
        encoding: Encoding::Lossless,
        exact: true,
        engine: EngineName::Cpu,
        builder: ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu),
        say: &|_| (),
    }
}

#[test]
fn wrong_answers_are_noticed() {
    let soak = soak();
    let subject = soak.subject(CaseName::Pairs.into()).expect("a case");
    let random = RandomBatches::new(soak.seed);
    let found = |question: &RandomBatch| subject.finder.find_batch(&question.batch).expect("answers");
    let mut batches = (0..).map(|number| random.batch(number)).map(|question| (found(&question), question));
    let heavy = |result: RoiResult<'_>| result.vertices().first().is_some_and(|vertex| vertex.weight > 9.0);
    let (results, question) = batches.find(|(results, _)| results.iter().any(heavy)).expect("a vertex");
    let check = |soak: &Soak<'_>, results: &Results| {
        let mut soaked = SoakResult::default();
        soak.check(&subject, &question, results, &mut soaked).map(|()| soaked)
    };
    let soaked = check(&soak, &results).expect("right answers");
    assert_eq!((soaked.rois, soaked.identical), (results.len() as u64, results.len() as u64));
    assert!(soaked.against_reference > 0);

    let at = results.iter().position(heavy).expect("a vertex");
    let gpu = Soak { engine: EngineName::Gpu, cases: &[], builder: soak.builder.clone(), ..soak };
    let tampered = |change: fn(&mut RoiSummary, &mut Vertex)| {
        let mut tampered = Results::new();
        for (number, roi) in results.iter().enumerate() {
            let (mut summary, mut vertices) = (roi.summary(), roi.vertices().iter().collect::<Vec<_>>());
            if number == at {
                change(&mut summary, &mut vertices[0]);
            }
            tampered.push(summary, vertices);
        }
        tampered
    };
    let is_wrong = |failure: &Failure| failure.code() == Some(Code::WrongAnswer);
    // A different bit is wrong on the CPU engine and rounding on a GPU; a millimetre is wrong on
    // both.
    let bit = tampered(|_, vertex| vertex.z_mm = vertex.z_mm.next_up());
    let refused = check(&soak, &bit).map(drop).expect_err("a bit");
    assert!(is_wrong(&refused) && refused.to_string().contains("seed 7"), "{refused}");
    let rounded = check(&gpu, &bit).expect("a rounding");
    let [other] = &rounded.other_bits[..] else { panic!("one RoI: {:?}", rounded.other_bits) };
    assert_eq!((rounded.rounded, other.batch, other.roi), (1, question.number, at as u64));
    assert_eq!(
        (other.found.clone(), other.cpu.clone()),
        (format!("{:?}", bit.roi(at).vertices()), format!("{:?}", results.roi(at).vertices()))
    );
    let told = table::format(&rounded);
    assert!(told.contains(&format!("batch {}, RoI {at} of", question.number)) && told.contains(&other.found), "{told}");
    let far = tampered(|_, vertex| vertex.z_mm += 1.0);
    assert!(check(&gpu, &far).is_err_and(|failure| is_wrong(&failure)));
    let told = tampered(|roi, _| roi.status = Status::CapacityExceeded);
    assert_eq!(check(&gpu, &told).map(|soaked| soaked.told).ok(), Some(1));
    assert!(check(&soak, &told).is_err());
    let fewer = tampered(|roi, _| roi.spacepoints -= 1);
    assert!(check(&gpu, &fewer).is_err_and(|failure| is_wrong(&failure)));
    assert!(check(&gpu, &results.iter().skip(1).collect()).is_err_and(|failure| is_wrong(&failure)));
}
