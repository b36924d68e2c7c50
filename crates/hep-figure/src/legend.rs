//! Legends: a box inside a frame, or lines above it.

use crate::colour::Colour;
use crate::draw::marker;
use crate::font::{CAP, Font};
use crate::panel::{Entry, Key, Line};
use crate::scene::{Anchor, Box2, Path, Place, Scene, Text};

const SIZE: f64 = 14.0;
/// Height of a row, width of a key, and the gap between a key and its name.
const ROW: f64 = 21.0;
const KEY: f64 = 30.0;
const GAP: f64 = 8.0;
/// Distance from the frame, longer than a tick.
const INSET: f64 = 16.0;
/// Clearance between entries of a line.
const APART: f64 = 22.0;
/// Width of the longest name in a box, in widths of the frame.
const LONGEST: f64 = 0.55;

/// Returns the width and height of a box with these entries.
pub(crate) fn box_size(entries: &[Entry], font: &Font, frame: &Box2) -> (f64, f64) {
    let longest = entries.iter().map(|entry| font.width(&entry.name, SIZE)).fold(0.0, f64::max);
    (KEY + GAP + longest.min(LONGEST * frame.width()), ROW * entries.len() as f64)
}

/// Returns the corners of the frame at which a box covers nothing, the best first.
pub(crate) fn free_place(size: (f64, f64), frame: &Box2, covered: &[Place]) -> Option<Place> {
    let (left, right) = (frame.left + INSET, frame.right - INSET - size.0);
    let (top, bottom) = (frame.top + INSET, frame.bottom - INSET - size.1);
    let middle = (left + right) / 2.0;
    if right < left || bottom < top {
        return None;
    }
    let candidates = [(right, top), (left, top), (right, bottom), (left, bottom), (middle, top), (middle, bottom)];
    candidates.into_iter().find(|&(x, y)| {
        let area = Box2 { left: x - 8.0, top: y - 8.0, right: x + size.0 + 8.0, bottom: y + size.1 + 8.0 };
        !covered.iter().any(|&place| area.holds(place))
    })
}

/// Draws a box.
pub(crate) fn draw_box(scene: &mut Scene, entries: &[Entry], font: &Font, (x, y): Place, width: f64) {
    for (row, entry) in entries.iter().enumerate() {
        let middle = y + ROW * (row as f64 + 0.5);
        draw_entry(scene, entry, font, (x, middle), width - KEY - GAP + 1.0);
    }
}

fn draw_entry(scene: &mut Scene, entry: &Entry, font: &Font, (x, y): Place, longest: f64) {
    let centre = x + KEY / 2.0;
    let line = |scene: &mut Scene, line: Line| scene.stroke(&Path::open(&[(x, y), (x + KEY, y)]), line);
    match entry.key {
        Key::Marker(mark) => marker(scene, (centre, y), mark),
        Key::Line(style) => line(scene, style),
        Key::Both(mark, style) => {
            line(scene, style);
            marker(scene, (centre, y), mark);
        }
        Key::Area(colour) => {
            let area = Box2 { left: x + 3.0, top: y - 6.0, right: x + KEY - 3.0, bottom: y + 6.0 };
            scene.fill(&area.path(), colour);
            scene.stroke(&area.path(), Line::solid(Colour::BLACK, 0.5));
        }
    }
    let name = font.shortened(&entry.name, SIZE, longest);
    scene.text(&Text::new(name, (x + KEY + GAP, y + CAP * SIZE / 2.0), SIZE, Anchor::Start));
}

/// Draws entries in lines from left to right below `top`; returns the height that they take.
///
/// Entries beyond `most` lines are counted in words.
pub(crate) fn draw_lines(scene: &mut Scene, entries: &[Entry], font: &Font, area: &Box2, most: usize) -> f64 {
    let longest = area.width() - KEY - GAP;
    let width = |entry: &Entry| KEY + GAP + font.width(&entry.name, SIZE).min(longest);
    let (mut x, mut row) = (area.left, 0);
    for (number, entry) in entries.iter().enumerate() {
        if x > area.left && x + width(entry) > area.right {
            (x, row) = (area.left, row + 1);
        }
        let middle = area.top + ROW * (row as f64 + 0.5);
        if row == most {
            let more = format!("and {} more", entries.len() - number);
            scene.text(&Text::new(more, (x, middle + CAP * SIZE / 2.0), SIZE, Anchor::Start));
            return ROW * (row + 1) as f64;
        }
        draw_entry(scene, entry, font, (x, middle), longest);
        x += width(entry) + APART;
    }
    if entries.is_empty() { 0.0 } else { ROW * (row + 1) as f64 }
}
