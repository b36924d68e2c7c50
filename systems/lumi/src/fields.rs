//! The fields of summary banks. Names, largest values, shifts and scales are those of LHCb's lumi
//! summaries. Detectors that this crate does not count have no fields.

use crate::schema::FieldSpec;
use crate::summary::Value;

/// Returns the fields of every summary.
pub(crate) fn basic_fields() -> Vec<(FieldSpec, Value)> {
    let plain = |name: &str, max: u32, value: Value| (FieldSpec::new(name, max), value);
    let mut fields = vec![
        plain("T0Low", u32::MAX, Value::TimeLow),
        plain("T0High", u32::MAX, Value::TimeHigh),
        plain("BCIDLow", u32::MAX, Value::CrossingLow),
        plain("BCIDHigh", 0x3fff, Value::CrossingHigh),
        plain("BXType", 3, Value::CrossingType),
        plain("GEC", 1, Value::Reconstructed),
        plain("VeloTracks", 1913, Value::VeloTracks(0)),
        plain("VeloFiducialTracks", 1913, Value::VeloTracks(1)),
    ];
    for (bin, max) in [68, 294, 302, 287, 471, 427, 328, 81].into_iter().enumerate() {
        fields.push(plain(&format!("VeloTracksEtaBin{bin}"), max, Value::VeloTracks(2 + bin)));
    }
    fields.push(plain("VeloVertices", 33, Value::Vertices));
    fields.push(plain("FiducialVeloVertices", 33, Value::FiducialVertices));
    for (i, (axis, scale)) in [("X", 1638.4), ("Y", 1638.4), ("Z", 16.384)].into_iter().enumerate() {
        let spec = FieldSpec::new(&format!("VeloVertex{axis}"), 0x3fff).scaled(f64::from(0x2000), scale);
        fields.push((spec, Value::VertexPosition(i)));
    }
    let clusters = [11_000, 11_000, 20_000, 20_000, 20_000, 11_000, 20_000, 11_000];
    for (i, max) in clusters.into_iter().enumerate() {
        let side = ["Inner", "Outer"][i % 2];
        fields.push(plain(&format!("VeloClusters{side}Bin{:02}", i / 2), max, Value::VeloClusters(52 + i)));
    }
    let stations = ["T1M123", "T2M123", "T3M123", "T1M4", "T2M4", "T3M45"];
    for (i, max) in [7650, 7590, 7890, 2100, 2350, 4100].into_iter().enumerate() {
        fields.push(plain(&format!("SciFi{}", stations[i]), max, Value::SciFi(i)));
    }
    let energies = [("ECalET", 0x1f_ffff, 0x10000, 0.2), ("ECalEtot", 0x7f_ffff, 0x10000, 0.0667)];
    for (i, (name, max, shift, scale)) in energies.into_iter().enumerate() {
        fields.push((FieldSpec::new(name, max).scaled(f64::from(shift), scale), Value::Calo(i)));
    }
    for i in 0..6 {
        let name = format!("ECalET{}{}", ["Outer", "Middle", "Inner"][i % 3], ["Top", "Bottom"][i / 3]);
        fields.push((FieldSpec::new(&name, 0x3_ffff).scaled(f64::from(0x4000), 0.2), Value::Calo(2 + i)));
    }
    fields
}

/// Returns the fields of full summaries only.
pub(crate) fn extended_fields() -> Vec<(FieldSpec, Value)> {
    let mut fields = Vec::new();
    for station in 0..3 {
        for module in 0..if station == 2 { 6 } else { 5 } {
            for (side, quarters) in ["Q02", "Q13"].into_iter().enumerate() {
                let name = format!("SciFiT{}{quarters}M{module}", station + 1);
                let max = if module < 4 { 0x1fff } else { 0x3ff };
                fields.push((FieldSpec::new(&name, max), Value::SciFi(6 + 10 * station + 2 * module + side)));
            }
        }
    }
    for i in 0..52 {
        let name = format!("VeloClusters{}S{:02}", ["Inner", "Outer"][i % 2], i / 2);
        fields.push((FieldSpec::new(&name, 3000), Value::VeloClusters(i)));
    }
    for i in 0..10 {
        let spec = FieldSpec::new(&format!("VeloVertexZ_{i:02}"), 0x3fff).scaled(f64::from(0x2000), 16.384);
        fields.push((spec, Value::VertexZ(i)));
    }
    fields
}
