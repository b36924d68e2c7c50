//! A vector of tracks. Shader: types.wgsl.

use pulp::Simd;

use super::lanes::Lanes;
use crate::batch::{HIT, STATE};

/// Parameters and the lower triangle of their covariance.
pub(super) struct State<S: Simd> {
    pub(super) x: Lanes<S>,
    pub(super) y: Lanes<S>,
    pub(super) z: Lanes<S>,
    pub(super) ipt: Lanes<S>,
    pub(super) phi: Lanes<S>,
    pub(super) theta: Lanes<S>,
    pub(super) c00: Lanes<S>,
    pub(super) c10: Lanes<S>,
    pub(super) c11: Lanes<S>,
    pub(super) c20: Lanes<S>,
    pub(super) c21: Lanes<S>,
    pub(super) c22: Lanes<S>,
    pub(super) c30: Lanes<S>,
    pub(super) c31: Lanes<S>,
    pub(super) c32: Lanes<S>,
    pub(super) c33: Lanes<S>,
    pub(super) c40: Lanes<S>,
    pub(super) c41: Lanes<S>,
    pub(super) c42: Lanes<S>,
    pub(super) c43: Lanes<S>,
    pub(super) c44: Lanes<S>,
    pub(super) c50: Lanes<S>,
    pub(super) c51: Lanes<S>,
    pub(super) c52: Lanes<S>,
    pub(super) c53: Lanes<S>,
    pub(super) c54: Lanes<S>,
    pub(super) c55: Lanes<S>,
}

impl<S: Simd> Clone for State<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Simd> Copy for State<S> {}

impl<S: Simd> State<S> {
    #[inline(always)]
    pub(super) fn of(
        [
            x,
            y,
            z,
            ipt,
            phi,
            theta,
            c00,
            c10,
            c11,
            c20,
            c21,
            c22,
            c30,
            c31,
            c32,
            c33,
            c40,
            c41,
            c42,
            c43,
            c44,
            c50,
            c51,
            c52,
            c53,
            c54,
            c55,
        ]: [Lanes<S>; STATE],
    ) -> Self {
        Self {
            x,
            y,
            z,
            ipt,
            phi,
            theta,
            c00,
            c10,
            c11,
            c20,
            c21,
            c22,
            c30,
            c31,
            c32,
            c33,
            c40,
            c41,
            c42,
            c43,
            c44,
            c50,
            c51,
            c52,
            c53,
            c54,
            c55,
        }
    }

    #[inline(always)]
    pub(super) fn numbers(&self) -> [Lanes<S>; STATE] {
        let Self {
            x,
            y,
            z,
            ipt,
            phi,
            theta,
            c00,
            c10,
            c11,
            c20,
            c21,
            c22,
            c30,
            c31,
            c32,
            c33,
            c40,
            c41,
            c42,
            c43,
            c44,
            c50,
            c51,
            c52,
            c53,
            c54,
            c55,
        } = *self;
        [
            x, y, z, ipt, phi, theta, c00, c10, c11, c20, c21, c22, c30, c31, c32, c33, c40, c41, c42, c43, c44, c50,
            c51, c52, c53, c54, c55,
        ]
    }
}

/// A hit.
pub(super) struct Hit<S: Simd> {
    pub(super) x: Lanes<S>,
    pub(super) y: Lanes<S>,
    pub(super) z: Lanes<S>,
    pub(super) v00: Lanes<S>,
    pub(super) v10: Lanes<S>,
    pub(super) v11: Lanes<S>,
    pub(super) v20: Lanes<S>,
    pub(super) v21: Lanes<S>,
    pub(super) v22: Lanes<S>,
}

impl<S: Simd> Clone for Hit<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Simd> Copy for Hit<S> {}

impl<S: Simd> Hit<S> {
    #[inline(always)]
    pub(super) fn of([x, y, z, v00, v10, v11, v20, v21, v22]: [Lanes<S>; HIT]) -> Self {
        Self { x, y, z, v00, v10, v11, v20, v21, v22 }
    }
}
