//! Accepts, encrypts, counts and ends connections.

use std::error::Error as StdError;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::queue::ClientId;
use crate::received::{ReceiveLimits, Received};
use crate::service::Service;

/// Longest time for a client to finish the TLS handshake, or the header of an HTTP request.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A client that does not answer a ping of HTTP/2 for this time is gone.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Window of a stream in bytes: larger messages wait until the server has read earlier parts.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 1 << 22;
/// Frame size in bytes. Larger frames cost less; clients may send smaller ones.
const FRAME: u32 = 1 << 18;
const CONCURRENT_STREAMS: u32 = 1024;
/// Streams that the server may reset for errors of HTTP/2 in the life of a connection. The limit
/// ends connections of clients that attack by such errors. It is never reached by refused requests,
/// however many: `Received` reads them to their end, so that their streams need no reset.
const ERROR_RESETS: usize = 1024;
/// Pause after the system refuses a connection, as it does without file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Encrypts connections.
#[cfg(feature = "tls")]
pub(crate) type Tls = tokio_rustls::TlsAcceptor;
/// Without the feature `tls` there is no value of this type.
#[cfg(not(feature = "tls"))]
pub(crate) type Tls = std::convert::Infallible;

/// A port with its listening socket.
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    pub(crate) tls: Option<Tls>,
    pub(crate) is_http2_only: bool,
    pub(crate) service: Arc<Service>,
    /// Permits for further connections, shared by all ports.
    pub(crate) room: Arc<Semaphore>,
    pub(crate) next_client: Arc<AtomicU64>,
    pub(crate) limits: Arc<ReceiveLimits>,
    pub(crate) drain: watch::Receiver<bool>,
}

impl Listener {
    /// Serves connections until the server drains, and returns when the last connection has ended.
    pub(crate) async fn run<H, F, B, E>(mut self, handle: H)
    where
        H: Fn(Request<Received>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
        E: Into<Box<dyn StdError + Send + Sync>> + 'static,
    {
        let builder = Arc::new(builder(self.is_http2_only));
        let graceful = GracefulShutdown::new();
        while let Some((stream, peer, permit)) = self.accept().await {
            let client = ClientId(self.next_client.fetch_add(1, Ordering::Relaxed));
            let (handle, limits) = (handle.clone(), Arc::clone(&self.limits));
            let handle = service_fn(move |request: Request<Incoming>| {
                let mut request = request.map(|body| Received::new(body, Arc::clone(&limits)));
                request.extensions_mut().insert(client);
                handle(request)
            });
            let (builder, watcher, tls) = (Arc::clone(&builder), graceful.watcher(), self.tls.clone());
            let service = Arc::clone(&self.service);
            tokio::spawn(async move {
                service.connections.add(1);
                let ended = match tls {
                    None => serve(&builder, watcher, stream, handle).await,
                    Some(tls) => serve_encrypted(&builder, watcher, tls, stream, handle).await,
                };
                service.connections.subtract(1);
                drop(permit);
                if let Err(error) = ended {
                    tracing::debug!(%peer, client = client.0, %error, "a connection ended early");
                }
            });
        }
        // Closed before connections end, so that other servers on the port get new connections.
        drop(self.socket);
        graceful.shutdown().await;
    }

    /// Returns the next connection; None when the server drains.
    async fn accept(&mut self) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        loop {
            let accept = async {
                // In this order, because a port without clients must not hold a permit.
                let accepted = self.socket.accept().await;
                Some((accepted, Arc::clone(&self.room).acquire_owned().await.ok()?))
            };
            let accepted = tokio::select! {
                accepted = accept => accepted?,
                _ = self.drain.wait_for(|is_draining| *is_draining) => return None,
            };
            match accepted {
                (Ok((stream, peer)), permit) => {
                    // Answers are small, and latency matters.
                    let _ = stream.set_nodelay(true);
                    return Some((stream, peer, permit));
                }
                (Err(error), _) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

type Ended = Result<(), Box<dyn StdError + Send + Sync>>;

fn builder(is_http2_only: bool) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    if is_http2_only {
        builder = builder.http2_only();
    }
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
        .max_concurrent_streams(CONCURRENT_STREAMS)
        .max_local_error_reset_streams(ERROR_RESETS)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HANDSHAKE);
    builder
}

async fn serve<S, F, B, E, Io>(builder: &auto::Builder<TokioExecutor>, watcher: Watcher, io: Io, service: S) -> Ended
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: hyper::service::Service<Request<Incoming>, Response = Response<B>, Error = E, Future = F> + Send + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
    E: Into<Box<dyn StdError + Send + Sync>> + 'static,
{
    let connection = builder.serve_connection(TokioIo::new(io), service).into_owned();
    watcher.watch(connection).await
}

#[cfg(feature = "tls")]
async fn serve_encrypted<S, F, B, E>(
    builder: &auto::Builder<TokioExecutor>,
    watcher: Watcher,
    tls: Tls,
    stream: TcpStream,
    service: S,
) -> Ended
where
    S: hyper::service::Service<Request<Incoming>, Response = Response<B>, Error = E, Future = F> + Send + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
    E: Into<Box<dyn StdError + Send + Sync>> + 'static,
{
    let stream = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await??;
    serve(builder, watcher, stream, service).await
}

#[cfg(not(feature = "tls"))]
async fn serve_encrypted<S>(_: &auto::Builder<TokioExecutor>, _: Watcher, tls: Tls, _: TcpStream, _: S) -> Ended {
    match tls {}
}
