//! The limits of the server: constants, and the defaults of [`Options`](crate::Options).

use std::time::Duration;

// Requests.

/// Default of the most bytes of a request, before and after decompression.
pub(crate) const MESSAGE_BYTES: usize = 64 << 20;
/// Default of the most bytes of all requests that are being received.
pub(crate) const RECEIVING_BYTES: usize = 4 << 30;
/// Default of the most bytes of all answers that wait to be sent.
pub(crate) const SENDING_BYTES: usize = 1 << 30;
/// Most RoIs of a request. An RoI takes some 300 bytes beside its spacepoints.
pub(crate) const REQUEST_ROIS: usize = 1 << 16;
/// Most tensors of a request, and most outputs that it names. zfinder has 11 inputs.
pub(crate) const TENSORS: usize = 64;
/// Most dimensions of a tensor.
pub(crate) const DIMENSIONS: usize = 8;
/// Most bytes of the `id` of a request, of the name of a region, and of its key.
pub(crate) const NAME_BYTES: usize = 4096;
/// Most bytes of the registration of a region over HTTP.
pub(crate) const REGISTRATION_BYTES: usize = 1 << 16;
/// Most regions of shared memory, because each has an open file.
pub(crate) const REGIONS: usize = 1024;
/// Requests of one stream that are in flight at once.
pub(crate) const STREAM_IN_FLIGHT: usize = 64;
/// Bodies above this size are parsed, and answers above it are written, outside the threads that
/// transport messages: 100 us of work or more.
pub(crate) const INLINE_BYTES: usize = 1 << 16;
/// Compressed bytes that are decompressed at once. They become at most 4 MiB.
pub(crate) const INFLATED_AT_ONCE: usize = 1 << 12;

// Messages to clients.

/// Most characters of a client's text that a message repeats.
pub(crate) const SHOWN_CHARACTERS: usize = 100;
/// Most characters of a message. Clients of gRPC read 8 KiB of headers.
pub(crate) const MESSAGE_CHARACTERS: usize = 2000;

// Connections.

/// Default of the most connections at once.
pub(crate) const CONNECTIONS: usize = 16_384;
/// Most connections of the metrics port, beside these.
pub(crate) const METRICS_CONNECTIONS: usize = 64;
/// Default of [`Options::idle`](crate::Options::idle).
pub(crate) const IDLE: Duration = Duration::from_secs(10);
/// A connection that has been idle for this part of the idle time ends if another one needs its
/// place.
pub(crate) const EVICTION_PART: u32 = 100;
/// If less than this part of the places is free, a new connection takes the place of an idle one.
pub(crate) const RESERVE_PART: usize = 8;
/// Part of the idle time after which a connection without a place tries again.
pub(crate) const EVICTION_RETRY_PART: u32 = 1000;
/// Multiple of the idle time for which a client may leave an answer unread, while less than half of
/// the bytes of waiting answers are in use.
pub(crate) const READER_PATIENCE: u32 = 6;
/// Longest time for a connection that the server closes to end by itself.
pub(crate) const CLOSING: Duration = Duration::from_millis(100);
/// A client that does not answer a ping of HTTP/2 for this time is gone.
pub(crate) const PING_INTERVAL: Duration = Duration::from_secs(30);
pub(crate) const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Window of a stream in bytes: larger messages wait until the server has read earlier parts.
pub(crate) const STREAM_WINDOW: u32 = 1 << 20;
pub(crate) const CONNECTION_WINDOW: u32 = 1 << 22;
/// Frame size in bytes. Larger frames cost less; clients may send smaller ones.
pub(crate) const FRAME: u32 = 1 << 18;
/// Part of an answer that is sent at once.
pub(crate) const SENT_AT_ONCE: usize = 1 << 16;
/// Bytes that a connection of HTTP/1.1 reads, or writes, ahead.
pub(crate) const HTTP1_BUFFER: usize = 1 << 17;
pub(crate) const CONCURRENT_STREAMS: u32 = 1024;
/// Streams that the server may reset for errors of HTTP/2 in the life of a connection. The limit
/// ends connections of clients that attack by such errors. It is never reached by refused requests,
/// however many: `Received` reads them to their end, so that their streams need no reset.
pub(crate) const ERROR_RESETS: usize = 1024;
/// Pause after the system refuses a connection, as it does without file descriptors.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Connections that the system has accepted, and a draining server still serves.
pub(crate) const LAST_ACCEPTED: usize = 1024;
/// Most threads that transport messages.
pub(crate) const IO_THREADS: usize = 8;

// Times.

/// Default of the longest duration of requests in flight at the end.
pub(crate) const DRAIN: Duration = Duration::from_secs(30);
/// Time for connections to send the last refusals.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(1);
/// Time for which a draining server reads requests of idle connections of HTTP/1.1: a client may
/// have sent one before it can know that the server drains.
pub(crate) const LAST_REQUEST: Duration = Duration::from_millis(500);
/// Longest time for a client to send the next part of a refused request while the server drains,
/// and the longest time for all parts. The client reads the status of its stream and stops. A
/// connection that is closed before would lose answers.
pub(crate) const LINGER_IDLE: Duration = Duration::from_millis(100);
pub(crate) const LINGER: Duration = Duration::from_secs(1);
/// Longest value of an option that is a time, except the time to drain.
pub(crate) const LONGEST_TIME: Duration = Duration::from_secs(3600);
/// First and longest delay before a lost device is opened again.
pub(crate) const FIRST_RETRY: Duration = Duration::from_millis(200);
pub(crate) const LONGEST_RETRY: Duration = Duration::from_secs(30);

// Batches.

/// Default numbers of RoIs of a batch.
pub(crate) const GPU_BATCH_ROIS: usize = 2048;
pub(crate) const CPU_BATCH_ROIS: usize = 512;
/// Default number of spacepoints of a batch.
pub(crate) const BATCH_SPACEPOINTS: usize = 1_000_000;
/// Default numbers of requests, and of their bytes, that wait.
pub(crate) const QUEUE_REQUESTS: usize = 8192;
pub(crate) const QUEUE_BYTES: usize = 1 << 30;
/// Work of an RoI from which its request is heavy, by the device: it is searched alone, by threads
/// of its own. A core takes 0.1 s at most for less than the first one, for which the other requests
/// of a batch wait. A full event of 46 collisions is heavy for a CPU, one of 200 for both. See
/// [`ZFinder::may_take_more_than`](zfinder::ZFinder::may_take_more_than).
pub(crate) const CPU_HEAVY_WORK: f64 = 1e8;
pub(crate) const GPU_HEAVY_WORK: f64 = 4e9;
/// Spacepoints that take as long as an RoI without any.
pub(crate) const ROI_WORK: usize = 32;
/// Spacepoints of a request whose units and layers are checked.
pub(crate) const CHECKED_SPACEPOINTS: usize = 1000;

// Memory of decoded messages of gRPC.

/// Memory of decoded fields for each byte of a message, and in addition to it. Vectors that grow
/// have room for twice as much, so that message and fields take three to five times the message.
pub(crate) const DECODED_TIMES: usize = 2;
pub(crate) const DECODED_ALSO: usize = 1 << 16;
/// Largest message that is decoded on a thread that transports messages.
pub(crate) const DECODED_INLINE: usize = 1 << 20;
/// Memory of a field of unknown content: a text, a message, an entry of a map.
pub(crate) const DECODED_FIELD: usize = 160;
