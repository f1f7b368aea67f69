//! Commands: what is refused, in which words, and that nothing changes by it.

mod nic_poster;

use nic_poster::{IOVA, Memory, Pair, Setup};
use oxshmem_emulator::nic::{
    Access, Address, CqDescription, Fabric, Fault, Nic, NicConfig, Pd, Place, QpDescription, Refused, State,
    Transition, Uar, Umem,
};

fn cq(pair: &Pair) -> CqDescription {
    CqDescription {
        buffer: Place { umem: pair.a.umem, offset: 4096 },
        log_size: 2,
        record: Some(Place { umem: pair.a.umem, offset: 8 }),
        collapsed: false,
        ignore_overrun: false,
        uar: pair.a.uar,
    }
}

fn qp(pair: &Pair) -> QpDescription {
    QpDescription {
        pd: pair.a.pd,
        send: Place { umem: pair.a.umem, offset: 4096 },
        log_send: 4,
        record: Place { umem: pair.a.umem, offset: 0 },
        send_cqn: pair.a.cqn,
        receive: None,
        uar: pair.a.uar,
        user_index: 0,
    }
}

fn init() -> Transition {
    Transition::ToInit { access: Access::ALL }
}

fn rtr() -> Transition {
    Transition::ToRtr {
        remote_qpn: 1,
        receive_psn: 0,
        mtu: 4096,
        address: Address::Lid(1),
        log_max_inbound_reads: 4,
        log_max_message: 30,
        min_rnr_timer: 12,
    }
}

fn rts() -> Transition {
    Transition::ToRts {
        send_psn: 0,
        log_max_outbound_reads: 4,
        ack_timeout: 20,
        retry_count: 7,
        rnr_retry: 7,
    }
}

#[test]
fn queues_that_do_not_fit() {
    let pair = Pair::new(Setup::default());
    let nic = &pair.a.nic;
    let said = |result: Result<u32, Refused>| result.expect_err("refused").to_string();
    let umem = Umem(1);
    let cases = [
        (said(nic.create_cq(&CqDescription { uar: Uar(1), ..cq(&pair) })), "no doorbell page 0x1"),
        (
            said(nic.create_cq(&CqDescription { buffer: Place { umem, offset: 0 }, ..cq(&pair) })),
            "no umem 0x1",
        ),
        (said(nic.create_cq(&CqDescription { log_size: 23, ..cq(&pair) })), "log_cq_size is 23"),
        (
            said(nic.create_cq(&CqDescription { log_size: 12, ..cq(&pair) })),
            "needs 262144 bytes at offset 4096",
        ),
        (
            said(
                nic.create_cq(&CqDescription { buffer: Place { umem: pair.a.umem, offset: 8 }, ..cq(&pair) }),
            ),
            "aligned to 64 bytes",
        ),
        (said(nic.create_cq(&CqDescription { record: None, ..cq(&pair) })), "for a queue without a record"),
        (said(nic.create_cq(&CqDescription { collapsed: true, ..cq(&pair) })), "for a collapsed queue"),
        (said(nic.create_qp(&QpDescription { pd: Pd(1), ..qp(&pair) })), "no protection domain 0x1"),
        (said(nic.create_qp(&QpDescription { send_cqn: 1, ..qp(&pair) })), "no completion queue 0x1"),
        (said(nic.create_qp(&QpDescription { log_send: 16, ..qp(&pair) })), "log_sq_size is 16"),
        (said(nic.create_qp(&QpDescription { user_index: 1 << 24, ..qp(&pair) })), "user_index is 16777216"),
        (
            said(
                nic.create_qp(&QpDescription { record: Place { umem: pair.a.umem, offset: 4 }, ..qp(&pair) }),
            ),
            "aligned to 8 bytes",
        ),
        (
            said(nic.create_qp(&QpDescription {
                record: Place { umem: pair.a.umem, offset: u64::MAX - 3 },
                ..qp(&pair)
            })),
            "needs 8 bytes at offset 18446744073709551612",
        ),
    ];
    for (said, words) in cases {
        assert!(said.contains(words), "{words:?} is not in {said:?}");
    }
    assert!(nic.create_cq(&cq(&pair)).is_ok() && nic.create_qp(&qp(&pair)).is_ok());
}

#[test]
fn states_lead_only_where_they_lead() {
    let pair = Pair::new(Setup::default());
    let qpn = pair.a.nic.create_qp(&qp(&pair)).unwrap();
    let state = || pair.a.nic.query_qp(qpn).unwrap().state;
    let change = |to| pair.a.nic.modify_qp(qpn, to);
    let refused = |to, from, asked| {
        assert_eq!(change(to), Err(Refused::Transition { qpn, from, to: asked }));
        assert_eq!(state(), from);
    };
    use State::{Error, Init, Reset, Rtr, Rts};
    refused(rtr(), Reset, Rtr);
    refused(rts(), Reset, Rts);
    refused(Transition::ToError, Reset, Error);
    change(init()).unwrap();
    refused(init(), Init, Init);
    refused(rts(), Init, Rts);
    change(rtr()).unwrap();
    refused(init(), Rtr, Init);
    refused(rtr(), Rtr, Rtr);
    change(rts()).unwrap();
    refused(rts(), Rts, Rts);
    change(Transition::ToError).unwrap();
    refused(init(), Error, Init);
    refused(rts(), Error, Rts);
    change(Transition::ToReset).unwrap();
    change(Transition::ToReset).unwrap();
    assert_eq!(state(), Reset);
    let sentence = change(rts()).unwrap_err().to_string();
    assert!(sentence.contains("in state Reset, from which there is no transition to Rts"), "{sentence}");
    // Asked for, so no event.
    assert_eq!(pair.a.nic.events(), []);
}

#[test]
fn parameters_out_of_range() {
    let pair = Pair::new(Setup::default());
    let qpn = pair.a.nic.create_qp(&qp(&pair)).unwrap();
    pair.a.nic.modify_qp(qpn, init()).unwrap();
    let refuses = |change: &dyn Fn(&mut Transition), base: Transition, words: &str| {
        let mut to = base;
        change(&mut to);
        let said = pair.a.nic.modify_qp(qpn, to).expect_err(words).to_string();
        assert!(said.contains(words), "{words:?} is not in {said:?}");
    };
    macro_rules! bad {
        ($base:ident, $variant:ident, $field:ident, $value:expr, $words:literal) => {
            let change = |to: &mut Transition| {
                if let Transition::$variant { $field, .. } = to {
                    *$field = $value;
                }
            };
            refuses(&change, $base(), $words);
        };
    }
    bad!(rtr, ToRtr, mtu, 1500, "the path's MTU is 1500");
    bad!(rtr, ToRtr, log_max_message, 31, "log_msg_max is 31");
    bad!(rtr, ToRtr, log_max_inbound_reads, 8, "log_rra_max is 8");
    bad!(rtr, ToRtr, min_rnr_timer, 32, "min_rnr_nak is 32");
    bad!(rtr, ToRtr, remote_qpn, 1 << 24, "the remote queue pair is 16777216");
    bad!(rtr, ToRtr, receive_psn, 1 << 24, "the receive PSN is 16777216");
    pair.a.nic.modify_qp(qpn, rtr()).unwrap();
    bad!(rts, ToRts, send_psn, 1 << 24, "the send PSN is 16777216");
    bad!(rts, ToRts, log_max_outbound_reads, 8, "log_sra_max is 8");
    bad!(rts, ToRts, ack_timeout, 32, "ack_timeout is 32");
    bad!(rts, ToRts, retry_count, 8, "retry_count is 8");
    bad!(rts, ToRts, rnr_retry, 8, "rnr_retry is 8");
    pair.a.nic.modify_qp(qpn, rts()).unwrap();
}

#[test]
fn what_is_in_use_stays_and_numbers_are_not_used_again() {
    let pair = Pair::new(Setup::default());
    let nic = &pair.a.nic;
    let in_use = |result: Result<(), Refused>, words: &str| {
        let said = result.expect_err(words).to_string();
        assert!(said.contains("is in use by") && said.contains(words), "{said}");
    };
    in_use(nic.dealloc_pd(pair.a.pd), "a memory region");
    in_use(nic.deregister_umem(pair.a.umem), "a queue pair");
    in_use(nic.free_uar(pair.a.uar), "a queue pair");
    in_use(nic.destroy_cq(pair.a.cqn), "a queue pair");
    nic.deregister(pair.a.keys.lkey).unwrap();
    in_use(nic.dealloc_pd(pair.a.pd), "a queue pair");
    nic.destroy_qp(pair.a.qpn).unwrap();
    in_use(nic.deregister_umem(pair.a.umem), "a completion queue");
    in_use(nic.free_uar(pair.a.uar), "a completion queue");
    nic.destroy_cq(pair.a.cqn).unwrap();
    nic.deregister_umem(pair.a.umem).unwrap();
    nic.free_uar(pair.a.uar).unwrap();
    nic.dealloc_pd(pair.a.pd).unwrap();
    let gone = [
        nic.deregister(pair.a.keys.lkey),
        nic.destroy_qp(pair.a.qpn),
        nic.destroy_cq(pair.a.cqn),
        nic.deregister_umem(pair.a.umem),
        nic.free_uar(pair.a.uar),
        nic.dealloc_pd(pair.a.pd),
        nic.modify_qp(pair.a.qpn, init()),
        nic.query_qp(pair.a.qpn).map(drop),
        nic.inject(Fault::Silent { qpn: pair.a.qpn }),
    ];
    for result in gone {
        assert!(matches!(result, Err(Refused::NoSuch { .. })), "{result:?}");
    }
    assert_ne!(nic.alloc_pd().unwrap(), pair.a.pd);
    // The same index has another variant.
    let memory = Memory::new(64);
    let pd = nic.alloc_pd().unwrap();
    // SAFETY: nothing is posted.
    let keys = unsafe { nic.register(pd, 0, memory.start(), 64, Access::ALL) }.unwrap();
    assert_eq!(keys.lkey >> 8, pair.a.keys.lkey >> 8);
    assert_ne!(keys.lkey, pair.a.keys.lkey);
}

#[test]
fn regions_and_pages_that_cannot_be() {
    let pair = Pair::new(Setup::default());
    let memory = Memory::new(8192);
    let register = |pd, iova, access| {
        // SAFETY: nothing is posted.
        unsafe { pair.a.nic.register(pd, iova, memory.start(), 4096, access) }
    };
    assert!(register(Pd(0), IOVA, Access::ALL).unwrap_err().to_string().contains("no protection domain"));
    let said = register(pair.a.pd, u64::MAX - 100, Access::ALL).unwrap_err().to_string();
    assert!(said.contains("the region's end is below 2^64"), "{said}");
    let access = Access { local_write: false, ..Access::ALL };
    let said = register(pair.a.pd, IOVA, access).unwrap_err().to_string();
    assert!(said.contains("true where others may write"), "{said}");
    // SAFETY: nothing is rung.
    let page = unsafe { pair.a.nic.alloc_uar(memory.start().wrapping_add(64)) };
    assert!(page.unwrap_err().to_string().contains("aligned to 4096 bytes"));
}

#[test]
fn a_nic_needs_a_place_and_limits_that_formats_allow() {
    let fabric = Fabric::local(1).unwrap();
    let mut config = NicConfig::default();
    config.log_max_queue = 16;
    assert!(Nic::new(config, &fabric).unwrap_err().to_string().contains("log_max_queue is 16"));
    let first = Nic::new(NicConfig::default(), &fabric).unwrap();
    let said = Nic::new(NicConfig::default(), &fabric).unwrap_err().to_string();
    assert!(said.contains("all 1 places are taken"), "{said}");
    drop(first);
    assert!(Nic::new(NicConfig::default(), &fabric).is_ok());
    assert!(Fabric::local(0).is_err() && Fabric::local(65).is_err());
}
