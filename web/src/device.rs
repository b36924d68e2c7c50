//! The browser's GPU.

use wasm_bindgen::prelude::*;
use zfinder::gpu::kernel_host::{AdapterChoice, Gpu, GpuOptions};
use zfinder::gpu::{AdapterKind, adapters_async};

use crate::exception;

/// An open device. All finders share its compiled kernels.
#[wasm_bindgen]
pub struct Device {
    pub(crate) gpu: Gpu,
}

#[wasm_bindgen]
impl Device {
    /// Opens the adapter that the browser offers.
    ///
    /// # Errors
    /// The browser offers no adapter, or the adapter opens no device.
    pub async fn open() -> Result<Device, JsError> {
        let adapters = adapters_async().await.map_err(exception)?;
        let first = adapters.first().ok_or_else(|| exception("the browser offers no WebGPU adapter"))?;
        let options = GpuOptions { adapter: AdapterChoice::Index(first.index), ..GpuOptions::default() };
        Ok(Device { gpu: Gpu::new_async(&options).await.map_err(exception)? })
    }

    /// Returns whether the adapter is software. Then the CPU engine is faster.
    #[must_use]
    pub fn is_software(&self) -> bool {
        self.gpu.summary().kind == AdapterKind::Software
    }

    /// Returns the reason if the device was lost.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        self.gpu.lost()
    }
}
