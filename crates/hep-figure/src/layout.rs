//! The layout of a figure: head, legend, panels, axes.

use crate::axis::{Axis, Ticks, signed, ticks};
use crate::colour::Colour;
use crate::draw::Plane;
use crate::figure::{Figure, Options};
use crate::font::{CAP, Font};
use crate::legend;
use crate::panel::{ColourBar, Entry, Line, Panel};
use crate::scene::{Anchor, Box2, OBLIQUE, Path, Place, Scene, Text, VERTICAL};

/// Height of the line above the panels.
pub(crate) const HEAD: f64 = 40.0;
const MARGIN: f64 = 12.0;
/// Sizes of letters.
const LABEL: f64 = 15.0;
const TITLE: f64 = 17.0;
const EXPERIMENT: f64 = 21.0;
const CAPTION: f64 = 15.0;
/// Lengths of ticks.
const MAJOR: f64 = 9.0;
const MINOR: f64 = 4.5;
const FRAME: f64 = 1.2;
/// Gap between the frame and its labels, and between labels and the title.
const GAP: f64 = 7.0;
/// A colour bar: gap and width.
const BAR_GAP: f64 = 14.0;
const BAR: f64 = 20.0;
/// Lines of a legend above the panels, at most.
const LEGEND_LINES: usize = 4;
/// The least position of the data that a legend raises the axis to.
const LOWEST: f64 = 0.5;

/// Lays out a figure in an empty scene.
pub(crate) fn draw(scene: &mut Scene, figure: &Figure, options: &Options, font: &Font) {
    let mut area = Box2 { left: MARGIN, top: MARGIN, right: scene.width - MARGIN, bottom: scene.height - MARGIN };
    let (left, right) = edges_of_frames(figure, font, &area);
    area.top += head(scene, figure, options, font, &Box2 { left, right, ..area });
    let is_single = figure.panels.len() == 1;
    let mut inside: &[Entry] = &[];
    if is_single && !figure.is_full {
        inside = &figure.legend;
    } else {
        let draw = |scene: &mut Scene, line: &Box2| legend::draw_lines(scene, &figure.legend, font, line, LEGEND_LINES);
        let lines_of = |line: &Box2| draw(&mut Scene::new((0.0, 0.0), None), line);
        let frames = Box2 { left, right, ..area };
        // The full width, where that saves a line.
        let line = if lines_of(&area) < lines_of(&frames) { area } else { frames };
        area.top += draw(scene, &line);
    }
    for (number, panel) in figure.panels.iter().enumerate() {
        let entries: Vec<Entry> = inside.iter().chain(&panel.legend).cloned().collect();
        draw_panel(scene, panel, &entries, font, cell_of(figure, number, &area));
    }
}

/// Returns the cell of a panel in the area of all panels.
fn cell_of(figure: &Figure, number: usize, area: &Box2) -> Box2 {
    let columns = figure.columns.clamp(1, figure.panels.len().max(1));
    let rows = figure.panels.len().div_ceil(columns).max(1);
    let (width, height) = (area.width() / columns as f64, area.height() / rows as f64);
    let (column, row) = (number % columns, number / columns);
    // Titles keep their distance from the panel before; the right edge has room for half of a
    // label.
    let left = area.left + width * column as f64 + if column > 0 { GAP } else { 0.0 };
    let right = area.left + width * (column + 1) as f64 - GAP;
    let top = area.top + height * row as f64;
    Box2 { left, top: top + GAP, right, bottom: top + height }
}

/// Returns the left edge of the first frame and the right edge of the last frame of the first row,
/// between which experiment, title and legend stand. A colour bar belongs to its frame.
fn edges_of_frames(figure: &Figure, font: &Font, area: &Box2) -> (f64, f64) {
    let frame = |number: usize| {
        let panel = figure.panels.get(number)?;
        Some((frame_of(panel, font, &cell_of(figure, number, area)), panel.colour_bar.is_some()))
    };
    let last = figure.columns.clamp(1, figure.panels.len().max(1)) - 1;
    let right = frame(last).filter(|(_, has_bar)| !has_bar).map_or(area.right, |(frame, _)| frame.right);
    (frame(0).map_or(area.left, |(frame, _)| frame.left), right)
}

/// Draws experiment, status and title; returns the height that they take.
fn head(scene: &mut Scene, figure: &Figure, options: &Options, font: &Font, area: &Box2) -> f64 {
    let mut x = area.left;
    let mut baseline = area.top + CAP * EXPERIMENT;
    let labels = [(&options.label, true, "", EXPERIMENT), (&options.label_text, false, OBLIQUE, 0.85 * EXPERIMENT)];
    for (text, is_bold, turn, size) in labels {
        let Some(text) = text.as_ref().filter(|text| !text.is_empty()) else { continue };
        let text = font.shortened(text, size, (area.right - x - GAP).max(0.0));
        // Bold letters are wider by their stroke.
        let width = 1.04 * font.width(&text, size);
        scene.text(&Text { is_bold, turn, ..Text::new(text, (x, baseline), size, Anchor::Start) });
        x += width + GAP;
    }
    let has_label = x > area.left;
    if figure.title.is_empty() {
        return if has_label { CAP * EXPERIMENT + GAP } else { 0.0 };
    }
    let room = area.right - x - if has_label { 3.0 * GAP } else { 0.0 };
    let wide = font.width(&figure.title, CAPTION);
    let mut size = CAPTION;
    if wide > room {
        // A second line, or smaller letters.
        if has_label {
            baseline += CAPTION + GAP;
        }
        size = (CAPTION * area.width() / wide).clamp(0.7 * CAPTION, CAPTION);
    }
    let title = font.shortened(&figure.title, size, area.width());
    scene.text(&Text::new(title, (area.right, baseline), size, Anchor::End));
    baseline - area.top + GAP
}

fn draw_panel(scene: &mut Scene, panel: &Panel, entries: &[Entry], font: &Font, cell: Box2) {
    let mut panel = panel.clone();
    let mut frame = frame_of(&panel, font, &cell);
    let mut place = None;
    let size = legend::box_size(entries, font, &frame);
    if !entries.is_empty() {
        place = room_for_legend(&mut panel, &frame, size);
        if place.is_none() {
            let strip = Box2 { left: frame.left, ..cell };
            let height = legend::draw_lines(scene, entries, font, &strip, LEGEND_LINES);
            frame = frame_of(&panel, font, &Box2 { top: cell.top + height + GAP, ..cell });
        } else {
            frame = frame_of(&panel, font, &cell);
        }
    }
    Plane { frame, x: &panel.x, y: &panel.y }.draw(scene, &panel, font);
    draw_axes(scene, &panel, &frame, font, &cell);
    if let Some(place) = place {
        legend::draw_box(scene, entries, font, place, size.0);
    }
    if let Some(bar) = &panel.colour_bar {
        draw_bar(scene, bar, &frame, font);
    }
}

/// Finds room for a legend, and raises the upper end of y if that makes room.
fn room_for_legend(panel: &mut Panel, frame: &Box2, size: (f64, f64)) -> Option<Place> {
    let original = panel.y.range;
    for position in [1.0, 0.9, 0.8, 0.7, 0.6, LOWEST] {
        panel.y.range = original;
        if position < 1.0 {
            panel.y.raise(position);
        }
        let covered = Plane { frame: *frame, x: &panel.x, y: &panel.y }.covered(panel);
        if let Some(place) = legend::free_place(size, frame, &covered) {
            return Some(place);
        }
        if !panel.y.has_headroom {
            break;
        }
    }
    panel.y.range = original;
    None
}

/// Returns the frame of a panel in its cell, inside labels and titles.
fn frame_of(panel: &Panel, font: &Font, cell: &Box2) -> Box2 {
    let below = GAP + LABEL + GAP + TITLE;
    let labels = y_ticks(&panel.y, cell.height() - below);
    let power = if labels.power.is_some() { LABEL + GAP } else { 0.0 };
    let title = if panel.y.title.is_empty() { 0.0 } else { TITLE + GAP };
    let left = cell.left + (title + widest(&labels, font).min(0.4 * cell.width()) + GAP).min(0.6 * cell.width());
    let mut right = cell.right;
    if let Some(bar) = &panel.colour_bar {
        let ticks = y_ticks(&bar.axis, cell.height() - below);
        right -= BAR_GAP + BAR + GAP + widest(&ticks, font) + GAP + TITLE;
    }
    Box2 { left, top: cell.top + power, right, bottom: cell.bottom - below }
}

/// The width of the longest label.
fn widest(ticks: &Ticks, font: &Font) -> f64 {
    ticks.major.iter().map(|(_, label)| font.width(label, LABEL)).fold(0.0, f64::max)
}

fn y_ticks(axis: &Axis, height: f64) -> Ticks {
    ticks(axis, &|major| major.windows(2).all(|pair| (pair[1].0 - pair[0].0).abs() * height > 1.7 * LABEL))
}

fn x_ticks(panel: &Panel, width: f64, font: &Font) -> Ticks {
    ticks(&panel.x, &|major| {
        major.windows(2).all(|pair| {
            let half = |label: &str| font.width(label, LABEL) / 2.0;
            (pair[1].0 - pair[0].0).abs() * width > half(&pair[0].1) + half(&pair[1].1) + 14.0
        })
    })
}

fn draw_axes(scene: &mut Scene, panel: &Panel, frame: &Box2, font: &Font, cell: &Box2) {
    let (x_ticks, y_ticks) = (x_ticks(panel, frame.width(), font), y_ticks(&panel.y, frame.height()));
    let inside = |position: &f64| (-1e-6..=1.0 + 1e-6).contains(position);
    let mut tick = |from: Place, to: Place| scene.stroke(&Path::open(&[from, to]), Line::solid(Colour::BLACK, 1.0));
    let positions = |ticks: &Ticks, has_marks: bool| -> Vec<(f64, f64)> {
        let major = ticks.major.iter().map(|(position, _)| (*position, MAJOR));
        let minor = ticks.minor.iter().map(|position| (*position, MINOR));
        major.chain(minor).filter(|(position, _)| has_marks && inside(position)).collect()
    };
    for (position, length) in positions(&x_ticks, panel.x.categories.is_empty()) {
        let x = frame.left + position * frame.width();
        tick((x, frame.bottom), (x, frame.bottom - length));
        tick((x, frame.top), (x, frame.top + length));
    }
    for (position, length) in positions(&y_ticks, panel.y.categories.is_empty()) {
        let y = frame.bottom - position * frame.height();
        tick((frame.left, y), (frame.left + length, y));
        tick((frame.right, y), (frame.right - length, y));
    }
    scene.stroke(&frame.path(), Line::solid(Colour::BLACK, FRAME));
    let below = frame.bottom + GAP + CAP * LABEL;
    for (position, label) in x_ticks.major.iter().filter(|(position, _)| inside(position)) {
        // A label at the end stays in the picture.
        let half = font.width(label, LABEL) / 2.0;
        let x = (frame.left + position * frame.width()).clamp(cell.left + half - GAP, cell.right + 2.0 * GAP - half);
        scene.text(&Text::new(label.clone(), (x, below), LABEL, Anchor::Middle));
    }
    let widest = 0.4 * cell.width();
    for (position, label) in y_ticks.major.iter().filter(|(position, _)| inside(position)) {
        let y = frame.bottom - position * frame.height() + CAP * LABEL / 2.0;
        let label = font.shortened(label, LABEL, widest);
        scene.text(&Text::new(label, (frame.left - GAP, y), LABEL, Anchor::End));
    }
    if let Some(power) = y_ticks.power {
        let label = power_label(power);
        scene.text(&Text::new(label, (frame.left, frame.top - GAP), LABEL, Anchor::Start));
    }
    let title = title_of(&panel.x, &x_ticks);
    let at = (frame.right, below + GAP + CAP * TITLE + 3.0);
    scene.text(&fitted(&title, at, frame.right - cell.left, font));
    // Below the letters' depth there is still the margin of the cell.
    let at = (cell.left + CAP * TITLE, frame.top);
    scene.text(&Text { turn: VERTICAL, ..fitted(&panel.y.title, at, frame.height(), font) });
}

/// The common factor of labels.
fn power_label(power: i32) -> String {
    format!("×10^{{{}}}", signed(&power.to_string()))
}

/// The title of an axis with the common factor of its labels.
fn title_of(axis: &Axis, ticks: &Ticks) -> String {
    ticks.power.map_or_else(|| axis.title.clone(), |power| format!("{} {}", axis.title, power_label(power)))
}

/// A title that ends at a place, in smaller letters or shortened if it has no room.
fn fitted(title: &str, at: Place, room: f64, font: &Font) -> Text {
    let wide = font.width(title, TITLE);
    let size = if wide > room { (TITLE * room / wide).max(0.65 * TITLE) } else { TITLE };
    Text::new(font.shortened(title, size, room), at, size, Anchor::End)
}

fn draw_bar(scene: &mut Scene, bar: &ColourBar, frame: &Box2, font: &Font) {
    const STEPS: usize = 128;
    let left = frame.right + BAR_GAP;
    let area = Box2 { left, right: left + BAR, ..*frame };
    for step in 0..STEPS {
        let edge = |step: usize| area.bottom - area.height() * step as f64 / STEPS as f64;
        let cell = Box2 { top: edge(step + 1), bottom: edge(step), ..area };
        scene.crisp(&cell.path(), bar.scale.at((step as f64 + 0.5) / STEPS as f64));
    }
    scene.stroke(&area.path(), Line::solid(Colour::BLACK, FRAME));
    let ticks = y_ticks(&bar.axis, frame.height());
    for (position, label) in &ticks.major {
        let y = area.bottom - position * area.height();
        let tick = [(area.right, y), (area.right - MAJOR / 2.0, y)];
        scene.stroke(&Path::open(&tick), Line::solid(Colour::BLACK, 1.0));
        let at = (area.right + GAP, y + CAP * LABEL / 2.0);
        scene.text(&Text::new(label.clone(), at, LABEL, Anchor::Start));
    }
    let title = title_of(&bar.axis, &ticks);
    let at = (area.right + GAP + widest(&ticks, font) + GAP + CAP * TITLE, frame.top);
    scene.text(&Text { turn: VERTICAL, ..fitted(&title, at, frame.height(), font) });
}
