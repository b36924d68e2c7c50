//! Colours of series and of scales.

/// An opaque or translucent colour in sRGB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colour {
    /// Red, green and blue.
    pub rgb: [u8; 3],
    /// Opacity, 0 to 1.
    pub alpha: f64,
}

impl Colour {
    /// Black.
    pub const BLACK: Self = Self::new([0, 0, 0]);
    /// White.
    pub const WHITE: Self = Self::new([255, 255, 255]);
    /// The grey of areas in the background.
    pub const GREY: Self = Self::new([190, 190, 190]);

    /// An opaque colour.
    #[must_use]
    pub const fn new(rgb: [u8; 3]) -> Self {
        Self { rgb, alpha: 1.0 }
    }

    /// The same colour with this opacity, 0 to 1.
    #[must_use]
    pub fn with_alpha(self, alpha: f64) -> Self {
        Self { alpha: alpha.clamp(0.0, 1.0), ..self }
    }

    /// Returns the colour of a series by its number. Six colours repeat.
    #[must_use]
    pub fn numbered(number: usize) -> Self {
        SERIES[number % SERIES.len()]
    }
}

/// Colours of series, distinct for colour-blind readers (M. Petroff, arXiv:2107.02270), as CMS uses
/// them.
pub const SERIES: [Colour; 6] = [
    Colour::new([87, 144, 252]),
    Colour::new([248, 156, 32]),
    Colour::new([228, 37, 54]),
    Colour::new([150, 74, 139]),
    Colour::new([156, 156, 161]),
    Colour::new([122, 33, 221]),
];

/// A scale of colours from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// For values of one sign: lightness rises from end to end (viridis).
    Sequential,
    /// For values of both signs: white in the middle (RdBu of C. Brewer).
    Diverging,
}

const VIRIDIS: [[u8; 3]; 10] = [
    [68, 1, 84],
    [72, 40, 120],
    [62, 73, 137],
    [49, 104, 142],
    [38, 130, 142],
    [31, 158, 137],
    [53, 183, 121],
    [110, 206, 88],
    [181, 222, 43],
    [253, 231, 37],
];

const BLUE_RED: [[u8; 3]; 11] = [
    [5, 48, 97],
    [33, 102, 172],
    [67, 147, 195],
    [146, 197, 222],
    [209, 229, 240],
    [247, 247, 247],
    [253, 219, 199],
    [244, 165, 130],
    [214, 96, 77],
    [178, 24, 43],
    [103, 0, 31],
];

impl Scale {
    /// Returns the colour at a position from 0 to 1. Positions outside are clamped; NaN is at 0.
    #[must_use]
    pub fn at(self, position: f64) -> Colour {
        let colours: &[[u8; 3]] = match self {
            Self::Sequential => &VIRIDIS,
            Self::Diverging => &BLUE_RED,
        };
        let last = colours.len() - 1;
        let position = position.clamp(0.0, 1.0) * last as f64;
        let below = (position as usize).min(last);
        let (low, high) = (colours[below], colours[(below + 1).min(last)]);
        let part = if position.is_nan() { 0.0 } else { position - below as f64 };
        Colour::new([0, 1, 2].map(|i| {
            let (low, high) = (f64::from(low[i]), f64::from(high[i]));
            (low + part * (high - low)).round() as u8
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_interpolate_and_clamp() {
        assert_eq!(Scale::Diverging.at(0.5), Colour::new([247, 247, 247]));
        assert_eq!(Scale::Diverging.at(0.05), Colour::new([19, 75, 135]));
        assert_eq!((Scale::Sequential.at(-1.0), Scale::Sequential.at(7.0)), (at(0), at(9)));
        assert_eq!(Scale::Sequential.at(f64::NAN), at(0));
        fn at(number: usize) -> Colour {
            Colour::new(VIRIDIS[number])
        }
    }
}
