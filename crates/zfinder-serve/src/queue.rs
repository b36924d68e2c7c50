//! A queue that is fair between clients.

use std::collections::{HashMap, VecDeque};

/// The sender of a request: one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClientId(pub(crate) u64);

/// A queue of items of many clients. Clients take turns: in each turn a client gives its oldest
/// item.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    /// Clients with items, the next one first.
    turns: VecDeque<ClientId>,
    items: HashMap<ClientId, VecDeque<T>>,
    length: usize,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self { turns: VecDeque::new(), items: HashMap::new(), length: 0 }
    }
}

impl<T> FairQueue<T> {
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn push(&mut self, client: ClientId, item: T) {
        let items = self.items.entry(client).or_insert_with(|| {
            self.turns.push_back(client);
            VecDeque::new()
        });
        items.push_back(item);
        self.length += 1;
    }

    /// Takes the next item if `is_wanted` accepts it. None also if the queue is empty.
    pub(crate) fn pop_if(&mut self, is_wanted: impl FnOnce(&T) -> bool) -> Option<T> {
        let client = *self.turns.front()?;
        let items = self.items.get_mut(&client)?;
        let item = items.pop_front_if(|item| is_wanted(item))?;
        self.length -= 1;
        self.turns.pop_front();
        if items.is_empty() {
            self.items.remove(&client);
        } else {
            self.turns.push_back(client);
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_take_turns() {
        let mut queue = FairQueue::default();
        for item in 0..4 {
            queue.push(ClientId(1), (1, item));
        }
        queue.push(ClientId(2), (2, 0));
        queue.push(ClientId(3), (3, 0));
        queue.push(ClientId(3), (3, 1));
        assert_eq!(queue.pop_if(|_| false), None);
        assert_eq!(queue.len(), 7);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_if(|_| true)).collect();
        assert_eq!(order, [(1, 0), (2, 0), (3, 0), (1, 1), (3, 1), (1, 2), (1, 3)]);
        assert_eq!(queue.len(), 0);
        queue.push(ClientId(2), (2, 1));
        assert_eq!(queue.pop_if(|_| true), Some((2, 1)));
    }
}
