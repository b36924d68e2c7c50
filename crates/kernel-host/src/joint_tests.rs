//! Tests of joint submissions on a model of a device that does one load after the other.

use std::collections::HashSet;
use std::pin::{Pin, pin};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use super::*;

/// A device that adds one to each number of a load.
#[derive(Default)]
struct Device {
    submitted: AtomicU64,
    /// Loads before this number are done.
    done: AtomicU64,
    busy: Mutex<()>,
    largest: AtomicUsize,
    on_device: AtomicUsize,
    most_on_device: AtomicUsize,
    is_lost: AtomicBool,
    /// Loads with this number fail.
    bad: Option<u64>,
    /// Loads are done only when the test says so.
    is_manual: bool,
    /// Held by a test to keep a caller in the middle of a submission.
    submitting: Mutex<()>,
}

struct Load {
    numbers: Vec<Option<u64>>,
    room: usize,
}

#[derive(Debug, PartialEq)]
struct Lost;

impl JointDevice for Device {
    type Load = Load;
    type Submission = u64;
    type Answers = Vec<u64>;
    type Error = Lost;

    fn size(&self, load: &Load) -> u64 {
        load.numbers.len() as u64
    }

    fn submit(&self, load: &mut Load) -> Result<u64, Lost> {
        self.largest.fetch_max(load.numbers.len(), Ordering::SeqCst);
        let is_bad = self.bad.is_some() && load.numbers.contains(&self.bad);
        if self.is_lost.load(Ordering::SeqCst) || is_bad {
            return Err(Lost);
        }
        let on_device = self.on_device.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_on_device.fetch_max(on_device, Ordering::SeqCst);
        let _submitting = self.submitting.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.submitted.fetch_add(1, Ordering::SeqCst))
    }

    fn wait(&self, &submission: &u64) -> Result<(), Lost> {
        while self.done.load(Ordering::SeqCst) <= submission {
            let _busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            thread::sleep(Duration::from_micros(50));
            if !self.is_manual && self.done.load(Ordering::SeqCst) <= submission {
                self.finish();
            }
        }
        if self.is_lost.load(Ordering::SeqCst) { Err(Lost) } else { Ok(()) }
    }

    async fn wait_async(&self, submission: &u64) -> Result<(), Lost> {
        if self.is_manual {
            std::future::poll_fn(|_| {
                if self.done.load(Ordering::SeqCst) > *submission { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
        self.wait(submission)
    }

    fn read(&self, load: Load) -> Result<Vec<u64>, Lost> {
        Ok(load.numbers.into_iter().map(|number| number.expect("written") + 1).collect())
    }
}

impl Device {
    fn finish(&self) {
        self.done.fetch_add(1, Ordering::SeqCst);
        self.on_device.fetch_sub(1, Ordering::SeqCst);
    }
}

fn poll<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Boards a load with room for so many numbers.
fn board<'a>(queue: &'a JointQueue<Device>, device: &Device, room: usize) -> (JointTicket<'a, Device>, usize) {
    let join = |load: &mut Load| {
        (load.numbers.len() < load.room).then(|| {
            load.numbers.push(None);
            load.numbers.len() - 1
        })
    };
    let open = || Ok(Some((Load { numbers: vec![None], room }, 0)));
    queue.board(device, join, open).expect("no failure").expect("room")
}

/// Boards and writes a number.
fn write<'a>(queue: &'a JointQueue<Device>, device: &Device, number: u64) -> (JointTicket<'a, Device>, usize) {
    let (mut ticket, place) = board(queue, device, 10);
    ticket.written(device, |load| load.numbers[place] = Some(number));
    (ticket, place)
}

#[test]
fn callers_share_loads_and_get_their_own_answers() {
    const CALLERS: u64 = 16;
    let (queue, device, start) = (JointQueue::default(), Device::default(), Barrier::new(CALLERS as usize));
    thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (queue, device, start) = (&queue, &device, &start);
            scope.spawn(move || {
                start.wait();
                for call in 0..100 {
                    let number = 1000 * caller + call;
                    let (mut ticket, place) = write(queue, device, number);
                    // Every third caller is a future.
                    let answers = match caller % 3 {
                        0 => pollster::block_on(ticket.wait_async(device)),
                        _ => ticket.wait(device),
                    };
                    assert_eq!(answers.expect("no failure").expect("answers")[place], number + 1);
                }
            });
        }
    });
    assert_eq!(queue.len(), 0);
    assert!(device.largest.load(Ordering::SeqCst) > 1, "callers joined");
    assert!(device.largest.load(Ordering::SeqCst) <= 10, "no load is overfull");
    assert_eq!(device.most_on_device.load(Ordering::SeqCst), 2);
    assert!(device.submitted.load(Ordering::SeqCst) < 1600);
}

#[test]
fn a_lone_caller_does_not_wait() {
    let (queue, device) = (JointQueue::default(), Device { is_manual: true, ..Device::default() });
    let (mut first, _) = write(&queue, &device, 1);
    assert_eq!(device.on_device.load(Ordering::SeqCst), 1);
    // The second is as large as the first.
    let (mut second, _) = write(&queue, &device, 2);
    assert_eq!(device.on_device.load(Ordering::SeqCst), 2);
    // The third and the fourth go together when the first is done.
    let (mut third, _) = write(&queue, &device, 3);
    let (mut fourth, place) = write(&queue, &device, 4);
    assert_eq!((device.on_device.load(Ordering::SeqCst), place), (2, 1));
    device.finish();
    assert_eq!(first.wait(&device), Ok(Some(Arc::new(vec![2]))));
    drop(first);
    device.finish();
    assert_eq!(second.wait(&device), Ok(Some(Arc::new(vec![3]))));
    drop(second);
    let mut waits = pin!(third.wait_async(&device));
    assert!(poll(waits.as_mut()).is_pending());
    device.finish();
    assert_eq!(fourth.wait(&device), Ok(Some(Arc::new(vec![4, 5]))));
    assert_eq!(poll(waits), Poll::Ready(Ok(Some(Arc::new(vec![4, 5])))));
}

/// Loads of futures that nobody polls, or that are dropped, hold nobody up.
#[test]
fn futures_that_nobody_polls_hold_nobody_up() {
    let (queue, device) = (JointQueue::default(), Device::default());
    let [(mut first, _), (mut second, _), (mut third, _)] = [1, 2, 3].map(|number| write(&queue, &device, number));
    let (mut idle, mut gathered) = (Box::pin(first.wait_async(&device)), Box::pin(third.wait_async(&device)));
    let (mut late, place) = write(&queue, &device, 4);
    assert_eq!(late.wait(&device).expect("no failure").expect("answers")[place], 5);
    assert!(poll(idle.as_mut()).is_ready() && poll(gathered.as_mut()).is_ready());
    assert!(second.wait(&device).is_ok());
    drop((idle, gathered));
    drop((first, second, third, late));
    let (dropped, _) = write(&queue, &device, 5);
    drop(dropped);
    let (mut after, place) = write(&queue, &device, 6);
    assert_eq!(after.wait(&device).expect("no failure").expect("answers")[place], 7);
    drop(after);
    assert_eq!(queue.len(), 0);
}

/// A load whose callers give up while another caller submits it holds nobody up.
#[test]
fn a_load_given_up_on_its_way_holds_nobody_up() {
    let (queue, device) = (JointQueue::default(), Device { is_manual: true, ..Device::default() });
    let [(mut first, _), (mut second, _)] = [1, 2].map(|number| write(&queue, &device, number));
    let (mut given_up, _) = board(&queue, &device, 1);
    given_up.written(&device, |load| load.numbers[0] = Some(3));
    device.finish();
    device.finish();
    let on_the_way = device.submitting.lock().expect("no panic");
    thread::scope(|scope| {
        let submits = scope.spawn(|| first.wait(&device));
        while device.on_device.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        assert!(second.wait(&device).is_ok());
        let ((mut waiting, _), (mut writing, _)) = (board(&queue, &device, 2), board(&queue, &device, 2));
        waiting.written(&device, |load| load.numbers[0] = Some(4));
        let mut waits = pin!(waiting.wait_async(&device));
        assert!(poll(waits.as_mut()).is_pending());
        drop(given_up);
        drop(on_the_way);
        assert!(submits.join().expect("no panic").is_ok());
        writing.written(&device, |load| load.numbers[1] = Some(5));
        device.finish();
        device.finish();
        assert_eq!(writing.wait(&device), Ok(Some(Arc::new(vec![5, 6]))));
        assert_eq!(poll(waits), Poll::Ready(Ok(Some(Arc::new(vec![5, 6])))));
    });
}

/// A caller that is alone gets the failure; several repeat their work alone.
#[test]
fn the_failure_of_one_is_not_that_of_others() {
    let (queue, device) = (JointQueue::default(), Device { bad: Some(7), ..Device::default() });
    let (mut alone, _) = write(&queue, &device, 7);
    assert_eq!(alone.wait(&device), Err(Lost));
    drop(alone);
    let (mut first, _) = board(&queue, &device, 10);
    let (mut second, _) = board(&queue, &device, 10);
    first.written(&device, |load| load.numbers[0] = Some(6));
    second.written(&device, |load| load.numbers[1] = Some(7));
    assert_eq!((first.wait(&device), second.wait(&device)), (Ok(None), Ok(None)));
    // All get the loss of the device.
    drop((first, second));
    let (mut before, _) = write(&queue, &device, 1);
    device.is_lost.store(true, Ordering::SeqCst);
    assert_eq!(before.wait(&device), Err(Lost));
    let (mut after, _) = write(&queue, &device, 1);
    assert_eq!(after.wait(&device), Err(Lost));
}

/// A caller that panics while it writes does not leave garbage to the device, nor others waiting.
#[test]
fn a_panic_while_writing_spoils_the_load() {
    let (queue, device) = (JointQueue::default(), Device::default());
    let (first, _) = board(&queue, &device, 10);
    let (mut second, _) = board(&queue, &device, 10);
    second.written(&device, |load| load.numbers[1] = Some(7));
    thread::scope(|scope| {
        let waits = scope.spawn(|| second.wait(&device));
        thread::sleep(Duration::from_millis(5));
        drop(first);
        assert_eq!(waits.join().expect("no panic"), Ok(None));
    });
    assert_eq!(device.submitted.load(Ordering::SeqCst), 0);
}

/// Without memory for a load, its caller does without one, and the next one tries again.
#[test]
fn no_memory_is_no_load() {
    let (queue, device) = (JointQueue::default(), Device::default());
    let none = queue.board(&device, |_| None::<()>, || Ok(None));
    assert!(none.expect("no failure").is_none());
    assert_eq!(queue.board(&device, |_| None::<()>, || Err(Lost)).err(), Some(Lost));
    assert!(write(&queue, &device, 1).0.wait(&device).is_ok());
}

/// Small loads come to the device too while large ones keep coming.
#[test]
fn nobody_starves() {
    let (queue, device, stop) = (JointQueue::default(), Device::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        for caller in 0..6_u64 {
            let (queue, device, stop) = (&queue, &device, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::SeqCst) {
                    // A load is full with its first caller for some, and takes others for some.
                    let (mut ticket, place) = board(queue, device, if caller % 2 == 0 { 1 } else { 10 });
                    ticket.written(device, |load| load.numbers[place] = Some(caller));
                    assert_eq!(ticket.wait(device).expect("no failure").expect("answers")[place], caller + 1);
                }
            });
        }
        let seen: HashSet<u64> = (0..200)
            .map(|call| {
                let (mut ticket, place) = write(&queue, &device, call);
                ticket.wait(&device).expect("no failure").expect("answers")[place]
            })
            .collect();
        stop.store(true, Ordering::SeqCst);
        assert_eq!(seen.len(), 200);
    });
}
