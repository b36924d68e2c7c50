//! The browser's GPU.

use wasm_bindgen::prelude::*;
use zfinder::kernel_host::{AdapterChoice, Gpu, GpuOptions};
use zfinder::{AdapterKind, adapters_async};

use crate::exception;

/// An open device. Its compiled kernels serve all finders.
#[wasm_bindgen]
pub struct Device {
    pub(crate) gpu: Gpu,
}

#[wasm_bindgen]
impl Device {
    /// Opens the adapter that the browser gives.
    ///
    /// # Errors
    /// There is no adapter, or it gives no device.
    pub async fn open() -> Result<Device, JsError> {
        let adapters = adapters_async().await.map_err(exception)?;
        let first = adapters.first().ok_or_else(|| exception("the browser gives no WebGPU adapter"))?;
        let options = GpuOptions { adapter: AdapterChoice::Index(first.index), ..GpuOptions::default() };
        Ok(Device { gpu: Gpu::new_async(&options).await.map_err(exception)? })
    }

    /// Whether the adapter is software, so that it is no faster than the CPU engine.
    #[must_use]
    pub fn is_software(&self) -> bool {
        self.gpu.summary().kind == AdapterKind::Software
    }

    /// Why the device was lost, if it was.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        self.gpu.lost()
    }
}
