//! Metrics in the text format of Prometheus.

use std::fmt::Write as _;

use crate::refusal::Reason;
use crate::service::Service;
use crate::statistics::Statistics;

/// Value of the header `Content-Type`.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes all metrics.
pub(crate) fn render(service: &Service) -> String {
    let mut text = String::new();
    let microseconds = |total: &crate::statistics::Total| total.nanoseconds() / 1000;
    type Value = Box<dyn Fn(&Statistics) -> u64>;
    let of_models: [(&str, &str, &str, Value); 13] = [
        ("nv_inference_request_success", "counter", "Requests answered", Box::new(|s| s.success.count())),
        ("nv_inference_count", "counter", "RoIs searched", Box::new(|s| s.rois.get())),
        ("nv_inference_exec_count", "counter", "Batches searched", Box::new(|s| s.batches.get())),
        ("nv_inference_pending_request_count", "gauge", "Requests that wait", Box::new(|s| s.pending.get())),
        (
            "nv_inference_request_duration_us",
            "counter",
            "Microseconds from the arrival of requests to their answers",
            Box::new(move |s| microseconds(&s.success)),
        ),
        (
            "nv_inference_queue_duration_us",
            "counter",
            "Microseconds that requests waited",
            Box::new(move |s| microseconds(&s.queue)),
        ),
        (
            "nv_inference_compute_input_duration_us",
            "counter",
            "Microseconds to make batches, counted for each request",
            Box::new(move |s| microseconds(&s.input)),
        ),
        (
            "nv_inference_compute_infer_duration_us",
            "counter",
            "Microseconds to search batches, counted for each request",
            Box::new(move |s| microseconds(&s.search)),
        ),
        (
            "nv_inference_compute_output_duration_us",
            "counter",
            "Microseconds to make answers",
            Box::new(move |s| microseconds(&s.output)),
        ),
        ("zfinder_spacepoints", "counter", "Spacepoints of the RoIs searched", Box::new(|s| s.spacepoints.get())),
        (
            "zfinder_fallback_batches",
            "counter",
            "Batches that the CPU engine answered in place of a device",
            Box::new(|s| s.fallback_batches.get()),
        ),
        (
            "zfinder_cancelled_requests",
            "counter",
            "Requests whose client had gone before they were computed",
            Box::new(|s| s.cancelled.get()),
        ),
        (
            "zfinder_last_answer_ms",
            "gauge",
            "Time of the last answer in milliseconds since 1970",
            Box::new(Statistics::last_milliseconds),
        ),
    ];
    for (name, kind, help, value) in &of_models {
        head(&mut text, name, kind, help);
        for (index, model) in service.models.iter().enumerate() {
            let value = value(service.statistics(index));
            // Writing to a String does not fail.
            let _ = writeln!(text, "{name}{{model=\"{}\",version=\"{}\"}} {value}", label(&model.name), model.version);
        }
    }
    let name = "nv_inference_request_failure";
    head(&mut text, name, "counter", "Requests refused, by reason");
    for (index, model) in service.models.iter().enumerate() {
        for reason in Reason::ALL {
            let (model_name, version, reason_label) = (label(&model.name), model.version, reason.label());
            let value = service.statistics(index).failures(reason);
            let _ = writeln!(
                text,
                "{name}{{model=\"{model_name}\",version=\"{version}\",reason=\"{reason_label}\"}} {value}"
            );
        }
    }
    of_server(&mut text, service);
    text
}

fn of_server(text: &mut String, service: &Service) {
    for (name, kind, help, value) in [
        ("zfinder_connections", "gauge", "Open connections", service.connections.len() as u64),
        ("zfinder_unknown_model_requests", "counter", "Requests that name no model", service.unassigned.get()),
        ("zfinder_ready", "gauge", "1 unless the server drains", u64::from(service.is_ready())),
    ] {
        head(text, name, kind, help);
        let _ = writeln!(text, "{name} {value}");
    }
    let name = "zfinder_device_lost";
    head(text, name, "gauge", "1 while a device is lost and the CPU engine answers");
    for (index, device) in service.scheduler.devices.iter().enumerate() {
        let lost = u64::from(device.is_lost());
        let _ = writeln!(text, "{name}{{device=\"{index}\",name=\"{}\"}} {lost}", label(&device.name));
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// Escapes the value of a label.
fn label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
