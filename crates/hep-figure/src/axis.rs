//! Axes: ranges, ticks and their labels.

/// One axis of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The title with its unit; `^{…}` and `_{…}` are exponents and indices.
    pub title: String,
    /// The lower and the upper end. The lower end of y may be the larger one: the axis points down.
    pub range: (f64, f64),
    /// Whether the axis is logarithmic.
    pub is_log: bool,
    /// Whether the upper end may be raised to make room for a legend.
    pub has_headroom: bool,
    /// Names of the unit intervals from 0 on, in place of numbers.
    pub categories: Vec<String>,
}

impl Axis {
    /// A linear axis of numbers.
    #[must_use]
    pub fn new(title: impl Into<String>, low: f64, high: f64) -> Self {
        let range = if low.is_finite() && high.is_finite() && low != high { (low, high) } else { (0.0, 1.0) };
        Self { title: title.into(), range, is_log: false, has_headroom: false, categories: Vec::new() }
    }

    /// The same axis, logarithmic.
    #[must_use]
    pub fn log(self) -> Self {
        Self { is_log: true, ..self }
    }

    /// The same axis, whose upper end may be raised for a legend.
    #[must_use]
    pub fn with_headroom(self) -> Self {
        Self { has_headroom: true, ..self }
    }

    /// Returns the position of a value, 0 to 1 within the range. None for values that have no
    /// position: NaN, and zero or less on a logarithmic axis.
    pub(crate) fn position(&self, value: f64) -> Option<f64> {
        let (low, high) = self.range;
        let position = if self.is_log { (value / low).ln() / (high / low).ln() } else { (value - low) / (high - low) };
        // Beyond this, pixels have no meaning.
        position.is_finite().then(|| position.clamp(-50.0, 50.0))
    }

    /// Returns the position of the end of a bar: the foot of the axis for values without a
    /// position.
    pub(crate) fn foot(&self, value: f64) -> Option<f64> {
        if self.is_log && value <= 0.0 { Some(-0.1) } else { self.position(value) }
    }

    /// Raises the upper end, so that the old upper end is at this position.
    pub(crate) fn raise(&mut self, position: f64) {
        let (low, high) = self.range;
        self.range.1 =
            if self.is_log { low * (high / low).powf(1.0 / position) } else { low + (high - low) / position };
    }
}

/// A position and its label.
pub(crate) type Label = (f64, String);

/// Ticks of an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ticks {
    /// Positions and labels.
    pub(crate) major: Vec<Label>,
    pub(crate) minor: Vec<f64>,
    /// The common power of ten of the labels.
    pub(crate) power: Option<i32>,
}

/// Returns whether labels at these positions fit.
type Fits<'a> = &'a dyn Fn(&[Label]) -> bool;

/// Returns ticks whose labels fit.
pub(crate) fn ticks(axis: &Axis, fits: Fits<'_>) -> Ticks {
    if !axis.categories.is_empty() {
        let label = |(number, name): (usize, &String)| Some((axis.position(number as f64 + 0.5)?, name.clone()));
        return Ticks { major: axis.categories.iter().enumerate().filter_map(label).collect(), ..Ticks::default() };
    }
    if axis.is_log { log_ticks(axis, fits) } else { linear_ticks(axis, fits) }
}

fn linear_ticks(axis: &Axis, fits: Fits<'_>) -> Ticks {
    let (low, high) = (axis.range.0.min(axis.range.1), axis.range.0.max(axis.range.1));
    let span = high - low;
    let largest = low.abs().max(high.abs());
    // A power of ten common to all labels keeps them short.
    let power = if (1e-3..1e5).contains(&largest) { None } else { Some(largest.log10().floor() as i32) };
    let unit = power.map_or(1.0, |power| 10_f64.powi(power));
    let mut ticks = Ticks { power, ..Ticks::default() };
    let first = (span / 12.0).log10().floor() as i32;
    for (exponent, (factor, parts)) in (first..first + 4).flat_map(|e| [(e, (1.0, 5)), (e, (2.0, 4)), (e, (5.0, 5))]) {
        let step = factor * 10_f64.powi(exponent);
        if span / step > 12.0 || step / largest < 1e-12 {
            continue;
        }
        let decimals = (-(step / unit).log10().floor()).clamp(0.0, 12.0) as usize;
        let all = ((low / step - 1e-9).ceil() as i64)..=((high / step + 1e-9).floor() as i64);
        let label = |number: i64| {
            let value = number as f64 * step;
            Some((axis.position(value)?, signed(&format!("{:.decimals$}", value / unit))))
        };
        let major: Vec<(f64, String)> = all.filter_map(label).collect();
        let fits = fits(&major);
        if fits || ticks.major.is_empty() {
            let small = step / f64::from(parts);
            let all = ((low / small - 1e-9).ceil() as i64)..=((high / small + 1e-9).floor() as i64);
            let minor = all.filter(|number| number % i64::from(parts) != 0);
            ticks.minor = minor.filter_map(|number| axis.position(number as f64 * small)).collect();
            ticks.major = major;
        }
        if fits {
            return ticks;
        }
        ticks.major.clear();
        ticks.minor.clear();
    }
    ticks
}

fn log_ticks(axis: &Axis, fits: Fits<'_>) -> Ticks {
    let (low, high) = (axis.range.0.min(axis.range.1), axis.range.0.max(axis.range.1));
    let decades = ((low.log10() - 1e-9).ceil() as i32)..=((high.log10() + 1e-9).floor() as i32);
    let inside = |value: f64| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(&value);
    let all: Vec<(i32, f64)> = ((*decades.start() - 1)..=*decades.end())
        .flat_map(|decade| (1..10).map(move |factor| (factor, f64::from(factor) * 10_f64.powi(decade))))
        .filter(|&(_, value)| inside(value))
        .collect();
    // A range of many decades has no room for minor ticks.
    let is_short = decades.clone().count() <= 12;
    let minor = || all.iter().filter(|_| is_short).filter_map(|&(_, value)| axis.position(value)).collect();
    for labelled in [&[1, 2, 5][..], &[1, 3]] {
        if decades.clone().count() > 1 {
            continue;
        }
        let values = all.iter().filter(|(factor, _)| labelled.contains(factor));
        let major: Vec<_> = values.filter_map(|&(_, value)| Some((axis.position(value)?, plain(value)))).collect();
        if major.len() > 1 && fits(&major) {
            return Ticks { major, minor: minor(), power: None };
        }
    }
    for every in 1..=(decades.clone().count() as i32).max(1) {
        let chosen = decades.clone().filter(|decade| decade % every == 0);
        let major: Vec<_> = chosen.filter_map(|e| Some((axis.position(10_f64.powi(e))?, decade(e)))).collect();
        if major.len() > 1 && fits(&major) {
            return Ticks { major, minor: minor(), power: None };
        }
    }
    // Less than a decade: numbers as on a linear axis.
    linear_ticks(axis, fits)
}

/// A power of ten; 1 and 10 as numbers.
fn decade(exponent: i32) -> String {
    match exponent {
        0 => "1".to_owned(),
        1 => "10".to_owned(),
        _ => format!("10^{{{}}}", signed(&exponent.to_string())),
    }
}

fn plain(value: f64) -> String {
    let exponent = (value.log10() + 1e-9).floor();
    if (-2.0..4.0).contains(&exponent) {
        return format!("{}", (value * 1e6).round() / 1e6);
    }
    let factor = (value / 10_f64.powf(exponent)).round();
    let power = decade(exponent as i32);
    if factor == 1.0 { power } else { format!("{factor}×{power}") }
}

/// A number with the sign of mathematics.
pub(crate) fn signed(number: &str) -> String {
    match number.strip_prefix('-') {
        // There is no -0.
        Some(digits) if digits.chars().all(|c| c == '0' || c == '.') => digits.to_owned(),
        Some(digits) => format!("\u{2212}{digits}"),
        None => number.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, most: usize) -> Vec<String> {
        let ticks = ticks(axis, &|major| major.len() <= most);
        ticks.major.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(labels(&Axis::new("", -0.4, 0.4), 6), ["−0.4", "−0.2", "0.0", "0.2", "0.4"]);
        assert_eq!(labels(&Axis::new("", 0.0, 1.05), 6), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&Axis::new("", 7.0, 3.0), 3), ["4", "6"]);
        let axis = Axis::new("", 0.0, 2.5e6);
        assert_eq!(ticks(&axis, &|major| major.len() < 7).power, Some(6));
        assert_eq!(labels(&axis, 6), ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5"]);
        assert_eq!(labels(&Axis::new("", f64::NAN, 1.0), 6).len(), 6);
    }

    #[test]
    fn decades_are_powers() {
        assert_eq!(
            labels(&Axis::new("", 1e-3, 200.0).log(), 9),
            ["10^{−3}", "10^{−2}", "10^{−1}", "1", "10", "10^{2}"]
        );
        assert_eq!(labels(&Axis::new("", 1e-20, 1e20).log(), 5), ["10^{−14}", "10^{−7}", "1", "10^{7}", "10^{14}"]);
        assert_eq!(labels(&Axis::new("", 1.0, 9.0).log(), 5), ["1", "2", "5"]);
        assert!(labels(&Axis::new("", 4.1, 4.3).log(), 9).len() > 1);
    }

    #[test]
    fn values_without_a_position_have_none() {
        let axis = Axis::new("", 1.0, 100.0).log();
        assert_eq!((axis.position(0.0), axis.position(f64::NAN), axis.position(10.0)), (None, None, Some(0.5)));
        assert_eq!((axis.foot(0.0), axis.foot(f64::NAN)), (Some(-0.1), None));
        let mut raised = axis.clone();
        raised.raise(0.5);
        assert_eq!(raised.position(100.0).map(|p| (p * 1e6).round()), Some(5e5));
    }
}
