//! Writes the truth of a simulated event as CSV.

use std::io::{self, Write};

use super::SimulatedRoi;

/// The header of the rows of [`SimulatedRoi::write_truth`], which
/// [`TruthTable`](zfinder_io::TruthTable) reads.
pub const TRUTH_HEADER: &str =
    "event,vertex,vx_mm,vy_mm,vz_mm,n_charged_pt500_eta25,sum_pt2_GeV2,max_pt_GeV,is_hard_scatter";

/// The header of the rows of [`SimulatedRoi::write_trackml_particles`]: that of TrackML.
pub const TRACKML_PARTICLES_HEADER: &str = "particle_id,vx,vy,vz,px,py,pz,q,nhits";

/// TrackML's particle ids have 12 bits for the number of the collision, 12 for that of a secondary
/// vertex, and 16 for that of the particle. The last 24 bits describe its ancestry.
const VERTEX_SHIFT: u32 = 52;
const MOST_VERTICES: usize = (1 << 12) - 1;
const PARTICLE_SHIFT: u32 = 24;
const MOST_PARTICLES: u64 = (1 << 16) - 1;

/// Limits of counted particles: pT \[GeV\] and |eta|.
const COUNTED_PT_GEV: f64 = 0.5;
const COUNTED_ETA: f64 = 2.5;

impl SimulatedRoi {
    /// Writes a row for each collision, numbered from 1, the hard scatter first. A row has the
    /// position, the number of charged particles with pT > 500 MeV and |eta| < 2.5, the sum of the
    /// squares of their pT, and the largest pT. Only particles in the RoI's eta window are
    /// simulated and counted, at any phi.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_truth(&self, out: &mut impl Write) -> io::Result<()> {
        let mut charged = vec![(0u32, 0.0f64, 0.0f64); self.truth.len()];
        for track in self.tracks.iter().filter(|t| t.pt_gev > COUNTED_PT_GEV && t.eta.abs() < COUNTED_ETA) {
            let (count, squares, largest) = &mut charged[track.vertex as usize];
            *count += 1;
            *squares += track.pt_gev * track.pt_gev;
            *largest = largest.max(track.pt_gev);
        }
        let event = self.roi.descriptor.id.event_id;
        for (number, (v, (count, squares, largest))) in self.truth.iter().zip(charged).enumerate() {
            let (x, y, z, hard) = (v.x_mm, v.y_mm, v.z_mm, u8::from(number == 0));
            writeln!(out, "{event},{},{x},{y},{z},{count},{squares:.3},{largest:.3},{hard}", number + 1)?;
        }
        Ok(())
    }

    /// Writes a row for each charged particle in TrackML's layout. `particle_id` contains the
    /// collision, `id >> 52`, of which 1 is the hard scatter; all particles are prompt. `vx,vy,vz`
    /// \[mm\] is the position of the collision, `px,py,pz` \[GeV\] the particle's momentum there,
    /// `q` its charge. `nhits` counts its spacepoints in the RoI; it is 0 for a particle outside
    /// the phi window. Particles outside the eta window and neutral particles are not simulated.
    ///
    /// # Errors
    /// Errors of `out`; more collisions, or more particles of one, than ids can hold (4095 and
    /// 65,535).
    pub fn write_trackml_particles(&self, out: &mut impl Write) -> io::Result<()> {
        let refuse = |message| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        let event = self.roi.descriptor.id.event_id;
        if self.truth.len() > MOST_VERTICES {
            let n = self.truth.len();
            return refuse(format!("event {event} has {n} collisions; TrackML's ids have room for {MOST_VERTICES}"));
        }
        let (mut vertex, mut number) = (0, 0);
        for track in &self.tracks {
            number = if track.vertex == vertex { number + 1 } else { 1 };
            vertex = track.vertex;
            if number > MOST_PARTICLES {
                return refuse(format!(
                    "a collision of event {event} has more particles than TrackML's ids have room for ({MOST_PARTICLES})"
                ));
            }
            let id = (u64::from(vertex) + 1) << VERTEX_SHIFT | number << PARTICLE_SHIFT;
            let v = &self.truth[vertex as usize];
            let (sin, cos) = track.phi.sin_cos();
            let (px, py, pz) = (track.pt_gev * cos, track.pt_gev * sin, track.pt_gev * track.eta.sinh());
            let (x, y, z, q, hits) = (v.x_mm, v.y_mm, v.z_mm, track.charge, track.spacepoints);
            writeln!(out, "{id},{x},{y},{z},{px},{py},{pz},{q},{hits}")?;
        }
        Ok(())
    }
}
