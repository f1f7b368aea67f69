//! One step of a PE, and the edges that its messages travel on.

/// Where a message's data goes at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A slot of the receiver's staging: a partial result that is still to be reduced.
    Slot,
    /// The chunk of the receiver's destination: it is final.
    Destination,
}

/// The value that a step makes of its chunk. *Kept* is the partial result that an earlier step of this PE has kept.
/// The received operand stands on the left of the reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The own source.
    Source,
    /// Received, reduced with the own source.
    ReceivedAndSource,
    /// What was kept.
    Kept,
    /// Received, reduced with what was kept.
    ReceivedAndKept,
    /// What stands in the destination, final: nothing is computed.
    Final,
}

/// What a step waits for, and the credit that it gives back once it is done with the message.
///
/// The word of (`inbox`, `slot`) reaches `number`; the word `credit` of PE `from` is then set to `grants` by a strong
/// signal, after the last read of the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    /// The PE that sends.
    pub from: u32,
    /// Which of this PE's inboxes.
    pub inbox: u32,
    /// The message's number on its edge, from 1 on. 0: nothing is waited for, the sender is only told that this PE has
    /// begun the collective and that its destination may be written.
    pub number: u32,
    /// Which slot of the inbox: `number - 1` modulo the slots.
    pub slot: u32,
    /// Where the data lies.
    pub place: Place,
    /// Which of the sender's credit words.
    pub credit: u32,
    /// What that word is set to: `number`, plus one if the edge begins with a grant.
    pub grants: u32,
}

/// The message that a step sends: the step's value into the place, and `number` into the word of (`inbox`, `slot`), by
/// a put and a strong signal, once the own credit word `credit` has reached `needs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Send {
    /// The PE that receives.
    pub to: u32,
    /// Which of its inboxes.
    pub inbox: u32,
    /// The message's number on its edge, from 1 on.
    pub number: u32,
    /// Which slot of the inbox.
    pub slot: u32,
    /// Where the data goes.
    pub place: Place,
    /// Which of this PE's credit words.
    pub credit: u32,
    /// What it must have reached; 0: nothing is waited for.
    pub needs: u32,
}

/// One step of one lane of one PE: wait for a message, make a value, keep it, send it, give the credit back; in this
/// order, and each part only if it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The chunk of the lane's slice, below [`Shape::chunks`](super::Shape::chunks).
    pub chunk: u32,
    /// The message that it waits for.
    pub receive: Option<Receive>,
    /// What it makes.
    pub value: Value,
    /// It writes the value to the chunk of the destination: for later steps, or for good.
    pub keep: bool,
    /// The message that it sends.
    pub send: Option<Send>,
}

/// A directed pair of PEs, seen from either end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) peer: u32,
    /// The inbox at the receiver.
    pub(super) inbox: u32,
    /// The credit word at the sender.
    pub(super) credit: u32,
    pub(super) place: Place,
}

/// How many messages may be on an edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) slots: u32,
    /// Edges begin with a grant: their receivers have sent nothing before that says that they have begun.
    pub(super) granted: bool,
}

impl Edge {
    #[inline(always)]
    pub(super) fn receive(self, number: u32, window: Window) -> Option<Receive> {
        let Self { peer: from, inbox, credit, place } = self;
        let slot = number.saturating_sub(1) % window.slots;
        Some(Receive { from, inbox, number, slot, place, credit, grants: number + window.granted as u32 })
    }

    #[inline(always)]
    pub(super) fn send(self, number: u32, window: Window) -> Option<Send> {
        let Self { peer: to, inbox, credit, place } = self;
        let (taken, first) = (number.saturating_sub(window.slots), window.granted as u32);
        Some(Send {
            to,
            inbox,
            number,
            slot: (number - 1) % window.slots,
            place,
            credit,
            needs: taken + first,
        })
    }
}

impl Step {
    /// The grant of an edge.
    #[inline(always)]
    pub(super) fn grant(edge: Edge, window: Window) -> Self {
        Self { chunk: 0, receive: edge.receive(0, window), value: Value::Final, keep: false, send: None }
    }

    /// A step of the reduction: `fresh` if nothing was kept of this chunk. Keeps what it does not send, and a final
    /// value in any case.
    #[inline(always)]
    pub(super) fn reduce(chunk: u32, receive: Option<Receive>, fresh: bool, send: Option<Send>) -> Self {
        let value = match (receive.is_some(), fresh) {
            (true, true) => Value::ReceivedAndSource,
            (true, false) => Value::ReceivedAndKept,
            (false, true) => Value::Source,
            (false, false) => Value::Kept,
        };
        let keep = match send {
            Some(send) => matches!(send.place, Place::Destination),
            None => true,
        };
        Self { chunk, receive, value, keep, send }
    }

    /// A step with a final chunk.
    #[inline(always)]
    pub(super) fn spread(chunk: u32, receive: Option<Receive>, send: Option<Send>) -> Self {
        Self { chunk, receive, value: Value::Final, keep: false, send }
    }
}
