use resvg::usvg::{Group, Node, Rect};

use crate::*;

fn panel(points: Vec<Point>) -> Panel {
    let mut panel =
        Panel::new("a", Axis::new("z [mm]", -200.0, 200.0), Axis::new("events / 0.1 mm", 0.0, 1.0).with_headroom());
    panel.layers.push(Layer::Points(points, Marker::numbered(0)));
    let (edges, heights) =
        ((0..=20).map(|e| -200.0 + 20.0 * f64::from(e)).collect(), (0..20).map(|h| f64::from(h) / 20.0).collect());
    panel.layers.push(Layer::Steps { edges, heights, line: Some(Line::numbered(1)), fill: Some(Colour::GREY) });
    panel
}

fn figure(points: Vec<Point>) -> Figure {
    let mut figure = Figure::new("event 3, RoI 0: 5,000 spacepoints", panel(points));
    figure.legend =
        (0..3).map(|number| Entry::new(Key::Marker(Marker::numbered(number)), format!("series {number}"))).collect();
    figure
}

/// Texts of a picture, the areas that their letters cover, and the size of the picture.
fn texts(figure: &Figure, options: &Options) -> (Vec<(String, Rect)>, (f32, f32)) {
    fn collect(group: &Group, texts: &mut Vec<(String, Rect)>) {
        for node in group.children() {
            match node {
                Node::Group(group) => collect(group, texts),
                Node::Path(path) if path.id().starts_with("text ") => {
                    texts.push((path.id().to_owned(), path.abs_bounding_box()));
                }
                _ => {}
            }
        }
    }
    let (svg, _) = figure.svg(Format::Pdf, options).expect("drawn");
    let tree = format::tree(&svg).expect("a picture");
    let mut texts = Vec::new();
    collect(tree.root(), &mut texts);
    (texts, (tree.size().width(), tree.size().height()))
}

#[test]
fn texts_stay_in_the_picture_and_apart_at_every_size() {
    let several = {
        let mut several = figure(vec![Point::new(1.0, 0.5)]);
        several.panels.extend([panel(vec![]), panel(vec![])]);
        several.columns = 3;
        several
    };
    let label = Options { label: Some("ATLAS".into()), label_text: Some("Simulation".into()), ..Options::default() };
    for size in [(200, 150), (300, 900), (640, 480), (1500, 300), (4000, 3000)] {
        for log in [false, true] {
            let options = Options { size: Some(size), log_y: log, ..label.clone() };
            for figure in [&figure(vec![Point::new(1.0, 0.5)]), &several] {
                let (texts, (width, height)) = texts(figure, &options);
                assert!(texts.len() > 8, "{texts:?}");
                for (number, (text, area)) in texts.iter().enumerate() {
                    let is_inside =
                        area.left() >= 0.0 && area.top() >= 0.0 && area.right() <= width && area.bottom() <= height;
                    assert!(is_inside, "{size:?} {log} {text}: {area:?} in {width} x {height}");
                    for (other, taken) in &texts[..number] {
                        let apart = area.left() >= taken.right()
                            || area.right() <= taken.left()
                            || area.top() >= taken.bottom()
                            || area.bottom() <= taken.top();
                        assert!(apart, "{size:?} {log}: {text} {area:?} on {other} {taken:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_format_is_written() {
    let nan = f64::NAN;
    let all = [
        vec![],
        vec![Point::new(0.0, 0.5)],
        vec![
            Point { x: 1.0, bin: (0.0, 2.0), y: 0.0, interval: (-1.0, nan) },
            Point::new(nan, nan),
            Point::new(1e300, -1e300),
        ],
    ];
    for points in all {
        for (log_x, log_y) in [(false, false), (true, true)] {
            let options = Options { log_x, log_y, size: Some((320, 240)), ..Options::default() };
            let drawn = |format| figure(points.clone()).render(format, &options).expect("drawn");
            let png = drawn(Format::Png);
            let info = png::Decoder::new(std::io::Cursor::new(&png)).read_info().expect("a PNG").info().clone();
            assert_eq!((info.width, info.height), (320, 240));
            let pdf = drawn(Format::Pdf);
            assert!(pdf.starts_with(b"%PDF-1.") && pdf.ends_with(b"%%EOF"));
            let svg = String::from_utf8(drawn(Format::Svg)).expect("UTF-8");
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("z [mm]"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}

#[test]
fn dots_make_pixels_and_not_inches() {
    let options = Options { size: Some((200, 150)), dpi: 300, ..Options::default() };
    let png = figure(vec![]).render(Format::Png, &options).expect("drawn");
    let reader = png::Decoder::new(std::io::Cursor::new(&png)).read_info().expect("a PNG");
    assert_eq!((reader.info().width, reader.info().height), (600, 450));
    assert_eq!(reader.info().pixel_dims.map(|dims| dims.xppu), Some(11_811));
    let pdf = figure(vec![]).render(Format::Pdf, &options).expect("drawn");
    assert!(String::from_utf8_lossy(&pdf).contains("/MediaBox [0 0 144 108]"));
}

#[test]
fn a_pdf_has_the_outlines_of_texts_and_the_same_bytes_every_time() {
    let drawn = |title: &str| {
        let mut figure = Figure { title: title.to_owned(), ..figure(vec![]) };
        let bar = |alpha| Layer::Bars(vec![[(-10.0, 0.1), (10.0, 0.2)]], Colour::BLACK.with_alpha(alpha));
        figure.panels[0].layers.extend([0.2, 0.4, 0.6, 0.8].map(bar));
        figure.render(Format::Pdf, &Options::default()).expect("drawn")
    };
    assert!(drawn("sphinx of black quartz").len() > drawn("").len() + 500);
    assert_eq!(drawn("sphinx"), drawn("sphinx"));
}

#[test]
fn wrong_options_are_refused() {
    let refused = |options: Options| figure(vec![]).render(Format::Png, &options).expect_err("refused").to_string();
    let some = Options::default;
    assert!(refused(Options { x_range: Some((2.0, 1.0)), ..some() }).contains("the range 2 to 1 of the x axis"));
    assert!(refused(Options { y_range: Some((0.0, f64::NAN)), ..some() }).contains("y axis is empty"));
    assert!(refused(Options { y_range: Some((0.0, 1.0)), log_y: true, ..some() }).contains("must begin above 0"));
    assert!(refused(Options { size: Some((10, 10)), ..some() }).contains("10 x 10 pixels"));
    assert!(refused(Options { size: Some((60_000, 60_000)), ..some() }).contains("100 million"));
    assert!(refused(Options { panel: Some("b".into()), ..some() }).contains("no panel `b`; the figure has a"));
}

#[test]
fn texts_are_escaped() {
    let mut figure = figure(vec![]);
    figure.title = "a < b & c\u{1}".to_owned();
    let svg = String::from_utf8(figure.render(Format::Svg, &Options::default()).expect("drawn")).expect("UTF-8");
    assert!(svg.contains("a &lt; b &amp; c "), "{svg:.400}");
}
