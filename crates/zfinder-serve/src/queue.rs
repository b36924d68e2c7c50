//! A queue that is fair between clients.

use std::collections::{BTreeMap, HashMap, VecDeque};

/// The sender of a request: one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClientId(pub(crate) u64);

/// A queue of items of many clients. A client gives its oldest item when its turn comes. The next
/// turn is further away the more work that item is, so that clients with little work do not wait
/// for all items of those with much.
///
/// This is start-time fair queueing: P. Goyal, H. M. Vin and H. Cheng, IEEE/ACM Trans. Networking 5
/// (1997) 690.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    /// Clients with items, by the virtual time of their turns and the order of their arrival.
    turns: BTreeMap<(u64, u64), ClientId>,
    /// Items with their work, oldest first.
    items: HashMap<ClientId, VecDeque<(u64, T)>>,
    /// The virtual time of the last turn.
    now: u64,
    arrivals: u64,
    length: usize,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self { turns: BTreeMap::new(), items: HashMap::new(), now: 0, arrivals: 0, length: 0 }
    }
}

impl<T> FairQueue<T> {
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn push(&mut self, client: ClientId, work: usize, item: T) {
        if !self.items.contains_key(&client) {
            self.give_turn(self.now, client);
        }
        self.items.entry(client).or_default().push_back((work as u64, item));
        self.length += 1;
    }

    /// Takes the next item if `is_wanted` accepts it. None also if the queue is empty.
    pub(crate) fn pop_if(&mut self, is_wanted: impl FnOnce(&T) -> bool) -> Option<T> {
        let (&turn, &client) = self.turns.first_key_value()?;
        let items = self.items.get_mut(&client)?;
        let (work, item) = items.pop_front_if(|(_, item)| is_wanted(item))?;
        self.length -= 1;
        self.turns.remove(&turn);
        self.now = turn.0;
        if items.is_empty() {
            self.items.remove(&client);
        } else {
            self.give_turn(self.now + work.max(1), client);
        }
        Some(item)
    }

    fn give_turn(&mut self, at: u64, client: ClientId) {
        self.arrivals += 1;
        self.turns.insert((at, self.arrivals), client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain<T>(queue: &mut FairQueue<T>) -> Vec<T> {
        std::iter::from_fn(|| queue.pop_if(|_| true)).collect()
    }

    #[test]
    fn clients_take_turns() {
        let mut queue = FairQueue::default();
        for item in 0..4 {
            queue.push(ClientId(1), 1, (1, item));
        }
        queue.push(ClientId(2), 1, (2, 0));
        queue.push(ClientId(3), 1, (3, 0));
        queue.push(ClientId(3), 1, (3, 1));
        assert_eq!(queue.pop_if(|_| false), None);
        assert_eq!(queue.len(), 7);
        assert_eq!(drain(&mut queue), [(1, 0), (2, 0), (3, 0), (1, 1), (3, 1), (1, 2), (1, 3)]);
        assert_eq!(queue.len(), 0);
        queue.push(ClientId(2), 0, (2, 1));
        assert_eq!(queue.pop_if(|_| true), Some((2, 1)));
    }

    /// A client with small items does not wait for more than one large item of each other client.
    #[test]
    fn turns_are_as_far_apart_as_the_work_is_large() {
        let mut queue = FairQueue::default();
        for item in 0..3 {
            queue.push(ClientId(1), 10, (1, item));
            queue.push(ClientId(2), 10, (2, item));
        }
        assert_eq!(queue.pop_if(|_| true), Some((1, 0)));
        for item in 0..12 {
            queue.push(ClientId(3), 1, (3, item));
        }
        let order = drain(&mut queue);
        let place = |item| order.iter().position(|&other| other == item).expect("it was pushed");
        assert_eq!(order[..2], [(2, 0), (3, 0)]);
        assert!(place((3, 9)) < place((1, 1)) && place((1, 1)) < place((3, 11)), "{order:?}");
        assert!(place((2, 1)) < place((1, 2)), "{order:?}");
    }
}
