//! Accepts, encrypts, counts and ends connections.

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::connections::{Connection, Connections, Place, Room};
use crate::drain::{Phase, Phases};
use crate::limits::{
    ACCEPT_PAUSE, CLOSING, CONCURRENT_STREAMS, CONNECTION_WINDOW, ERROR_RESETS, FRAME, HTTP1_BUFFER, LAST_ACCEPTED,
    LAST_REQUEST, PING_INTERVAL, PING_TIMEOUT, STREAM_WINDOW,
};
use crate::received::{ReceiveLimits, Received};
use crate::sending::{SendLimits, Sent, StreamExecutor};

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
    pub(crate) connections: Arc<Connections>,
    pub(crate) room: Room,
    pub(crate) receiving: Arc<ReceiveLimits>,
    pub(crate) sending: Arc<SendLimits>,
    /// Longest time for a client to finish the TLS handshake, or the header of an HTTP request.
    pub(crate) idle: Duration,
    pub(crate) phases: Phases,
}

impl Listener {
    /// Serves connections until the server drains, and returns when the last connection has ended.
    /// `stopping` makes the answer to requests that are in progress when the time to drain ends.
    pub(crate) async fn run<H, F, B, E>(mut self, handle: H, stopping: fn() -> Response<B>)
    where
        H: Fn(Request<Received>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data = Bytes> + Unpin + Send + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
        E: Into<Box<dyn StdError + Send + Sync>> + Send + 'static,
    {
        let builder = Arc::new(self.builder());
        let (open, mut all_ended) = mpsc::channel::<()>(1);
        let mut last = LAST_ACCEPTED;
        while let Some((stream, peer, place)) = self.accept(&mut last).await {
            let connection = Arc::clone(&place.connection);
            let (handle, receiving, sending) = (handle.clone(), Arc::clone(&self.receiving), Arc::clone(&self.sending));
            let (phases, of_requests) = (self.phases.clone(), Arc::clone(&connection));
            let handle = service_fn(move |request: Request<Incoming>| {
                let is_http2 = request.version() == Version::HTTP_2;
                let busy = of_requests.begin(is_http2);
                let mut request = request.map(|body| Received::new(body, Arc::clone(&receiving)));
                request.extensions_mut().insert(of_requests.client);
                let response = handle(request);
                let (mut phases, sending) = (phases.clone(), Arc::clone(&sending));
                async move {
                    let mut response = tokio::select! {
                        biased;
                        response = response => response?,
                        () = phases.reached(Phase::Over) => stopping(),
                    };
                    if !is_http2 && phases.has_reached(Phase::Draining) {
                        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                    }
                    Ok::<_, E>(response.map(|body| Sent::new(body, busy, sending)))
                }
            });
            let (builder, tls, phases) = (Arc::clone(&builder), self.tls.clone(), self.phases.clone());
            let (idle, open) = (self.idle, open.clone());
            tokio::spawn(async move {
                let ended = match tls {
                    None => serve(&builder, stream, handle, &connection, phases).await,
                    Some(tls) => serve_encrypted(&builder, tls, idle, stream, handle, &connection, phases).await,
                };
                drop((place, open));
                if let Err(error) = ended {
                    tracing::debug!(%peer, client = connection.client.0, %error, "a connection ended early");
                }
            });
        }
        // Closed before connections end, so that other servers on the port get new connections.
        drop((self.socket, open));
        all_ended.recv().await;
    }

    /// Returns the next connection; None when the server drains, and the system has accepted no
    /// further one. `last` is how many of these are still served.
    async fn accept(&mut self, last: &mut usize) -> Option<(TcpStream, SocketAddr, Place)> {
        let mut is_failing = false;
        loop {
            let accepted = if self.phases.has_reached(Phase::Draining) {
                *last = last.checked_sub(1)?;
                self.accept_waiting()?
            } else {
                tokio::select! {
                    accepted = self.socket.accept() => accepted,
                    () = self.phases.reached(Phase::Draining) => continue,
                }
            };
            match accepted {
                Ok((stream, peer)) => {
                    if is_failing {
                        tracing::info!("connections are accepted again");
                    }
                    // Answers are small, and latency matters.
                    let _ = stream.set_nodelay(true);
                    let place = tokio::select! {
                        place = self.connections.admit(&self.room) => place?,
                        () = self.phases.reached(Phase::Over) => return None,
                    };
                    return Some((stream, peer, place));
                }
                Err(error) => {
                    if !is_failing {
                        tracing::warn!(%error, "connections are not accepted: idle ones are closed for new ones");
                    }
                    is_failing = true;
                    // The system may have no more files.
                    self.connections.evict(None);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Returns a connection that the system has accepted. The system resets these when the socket
    /// closes, and the runtime may not know of them yet.
    fn accept_waiting(&self) -> Option<io::Result<(TcpStream, SocketAddr)>> {
        match SockRef::from(&self.socket).accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            accepted => Some(accepted.and_then(|(socket, peer)| {
                socket.set_nonblocking(true)?;
                let peer = peer.as_socket().ok_or(io::ErrorKind::InvalidData)?;
                Ok((TcpStream::from_std(socket.into())?, peer))
            })),
        }
    }

    fn builder(&self) -> auto::Builder<StreamExecutor> {
        let mut builder = auto::Builder::new(StreamExecutor(Arc::clone(&self.sending)));
        if self.is_http2_only {
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
        builder.http1().timer(TokioTimer::new()).header_read_timeout(self.idle).max_buf_size(HTTP1_BUFFER);
        builder
    }
}

type Ended = Result<(), Box<dyn StdError + Send + Sync>>;

/// Serves the requests of a connection. When the server drains, the connection ends after them.
async fn serve<S, F, B, E, Io>(
    builder: &auto::Builder<StreamExecutor>,
    io: Io,
    service: S,
    state: &Connection,
    mut phases: Phases,
) -> Ended
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: hyper::service::Service<Request<Incoming>, Response = Response<B>, Error = E, Future = F> + Send + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
    E: Into<Box<dyn StdError + Send + Sync>> + 'static,
{
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = state.closing() => {
            if !state.has_begun() {
                return Ok(());
            }
            connection.as_mut().graceful_shutdown();
            return timeout(CLOSING, connection).await.unwrap_or(Ok(()));
        }
        () = phases.reached(Phase::Draining) => {}
    }
    if !state.is_http2() {
        tokio::select! {
            biased;
            ended = connection.as_mut() => return ended,
            _ = timeout(LAST_REQUEST, state.next_request()) => {}
        }
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        ended = connection => ended,
        () = state.closing() => Ok(()),
    }
}

#[cfg(feature = "tls")]
async fn serve_encrypted<S, F, B, E>(
    builder: &auto::Builder<StreamExecutor>,
    tls: Tls,
    idle: Duration,
    stream: TcpStream,
    service: S,
    state: &Connection,
    phases: Phases,
) -> Ended
where
    S: hyper::service::Service<Request<Incoming>, Response = Response<B>, Error = E, Future = F> + Send + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
    E: Into<Box<dyn StdError + Send + Sync>> + 'static,
{
    let stream = tokio::select! {
        stream = timeout(idle, tls.accept(stream)) => stream??,
        () = state.closing() => return Ok(()),
    };
    serve(builder, stream, service, state, phases).await
}

#[cfg(not(feature = "tls"))]
async fn serve_encrypted<S>(
    _: &auto::Builder<StreamExecutor>,
    tls: Tls,
    _: Duration,
    _: TcpStream,
    _: S,
    _: &Connection,
    _: Phases,
) -> Ended {
    match tls {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connections_that_the_system_has_accepted_are_served_when_the_server_drains() {
        let (phase, phases) = Phases::new();
        let socket = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("an address");
        let idle = Duration::from_secs(10);
        let sending = Arc::new(SendLimits::new(1 << 20, idle));
        let mut listener = Listener {
            socket,
            tls: None,
            is_http2_only: false,
            connections: Arc::new(Connections::new(idle, Arc::clone(&sending))),
            room: Room::new("connections", 10),
            receiving: Arc::new(ReceiveLimits::new(1 << 20, 1 << 20, idle, phases.clone())),
            sending,
            idle,
            phases,
        };
        // The runtime does not learn of these: this test does not wait between here and `accept`.
        let clients: [_; 3] = std::array::from_fn(|_| std::net::TcpStream::connect(address).expect("accepted"));
        phase.send_replace(Phase::Draining);
        let mut last = 3;
        for client in &clients {
            let (_, peer, _) = listener.accept(&mut last).await.expect("a connection");
            assert_eq!(peer, client.local_addr().expect("an address"));
        }
        let _one_too_many = std::net::TcpStream::connect(address).expect("accepted");
        assert!(listener.accept(&mut last).await.is_none());
        assert!(listener.accept(&mut 1).await.is_some());
        assert!(listener.accept(&mut 1).await.is_none(), "no connection waits");
    }
}
