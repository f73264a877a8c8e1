//! Gateway and devices side by side: the machines, the links between them byte by byte, two disks, and the time.
//!
//! Nothing happens by itself: each step is a call. `settle` takes all steps that need no fault until nothing is left.

mod mq;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use mq_wire::{Persistence, QMgrName, QName, Reason};
use store::{Batch, Commit, Position, UnitId};

use super::disk::Disk;
use super::ledger::Ledger;
use crate::area::{
    Accepted, Area, AreaEffect, AreaSettings, ColdWork, DeviceView, Onboarding, PutCheck, Undelivered,
};
use crate::device_end::{
    Action, Device, DeviceRecord, DeviceSettings, DeviceState, EndWhy, PersistToken, Records,
};
use crate::frame::{ErrorCode, Frame, Put, PutOutcome};
use crate::gateway_end::{DeviceConnection, DeviceEvent};
use crate::{ConnId, DeviceMessage, DeviceName, Now, RequestId, Sequence, StoreIdentity, Uid};

pub(super) const IDENTITY: StoreIdentity = StoreIdentity([7; 16]);

/// How the device decides what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decide {
    Store,
    Reject,
    Release,
    /// Not yet: the test says so later.
    Hold,
}

/// How the gateway's owner decides a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Puts {
    Take,
    Refuse,
    Busy,
    /// It stays in the exits.
    Hold,
    /// Into the outbox; it is answered when the entry has ended.
    Enter,
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) device: usize,
    pub(super) machine: DeviceConnection,
    held: VecDeque<(Option<Position>, AreaEffect)>,
    pub(super) up: VecDeque<u8>,
    pub(super) down: VecDeque<u8>,
    /// The gateway has not seen the end.
    pub(super) at_gateway: bool,
    /// The device has not given it up.
    pub(super) at_device: bool,
}

#[derive(Debug)]
enum DiskOp {
    Persist(PersistToken, Vec<DeviceRecord>),
    Store(Uid, DeviceRecord),
}

#[derive(Debug)]
pub(super) struct DeviceSide {
    pub(super) machine: Device,
    settings: DeviceSettings,
    pub(super) file: BytesMut,
    disk: VecDeque<DiskOp>,
    pub(super) conn: Option<ConnId>,
    pub(super) decide: Decide,
    pub(super) held: Vec<(Uid, Bytes, Bytes)>,
    pub(super) ended: Vec<EndWhy>,
    pub(super) decided: Vec<(Sequence, PutOutcome)>,
}

#[derive(Debug)]
pub(super) struct Pair {
    pub(super) time: Instant,
    pub(super) wall_ms: u64,
    pub(super) settings: AreaSettings,
    pub(super) disk: Disk,
    pub(super) area: Area,
    pub(super) links: BTreeMap<ConnId, Link>,
    pub(super) devices: Vec<DeviceSide>,
    pub(super) puts: Puts,
    pub(super) in_exits: VecDeque<(ConnId, RequestId, Put)>,
    pub(super) letters: VecDeque<AreaEffect>,
    pub(super) ledger: Ledger,
    pub(super) cold: VecDeque<ColdWork>,
    /// Entries that are not in memory, by number and part.
    pub(super) kept: BTreeMap<(u32, u32), Bytes>,
    /// Nothing can be kept any more, and what was kept cannot be read.
    pub(super) index_broken: bool,
    pub(super) evictions: usize,
    /// Units that are durable or will be, and invisible: with the number of their message, and what becomes of them.
    pub(super) prepared: BTreeMap<UnitId, (u32, bool)>,
    /// Offered, and not on disk.
    pub(super) undurable: Vec<(Position, u32)>,
    next_conn: u64,
    next_mq: u64,
}

pub(super) fn name(device: usize) -> DeviceName {
    DeviceName::new(&format!("DEV{device:05}")).unwrap()
}

pub(super) fn message(number: u32, priority: u8) -> DeviceMessage {
    let payload = Bytes::from(format!("{number}"));
    let mut message = DeviceMessage::new(QName::new("ORDERS").unwrap(), payload);
    message.descriptor.priority = i32::from(priority);
    message.descriptor.persistence = Persistence::PERSISTENT;
    message
}

pub(super) fn number_of(payload: &[u8]) -> u32 {
    std::str::from_utf8(payload).unwrap().parse().unwrap()
}

impl Pair {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl FnOnce(&mut AreaSettings)) -> Self {
        let mut settings = AreaSettings::new(QMgrName::new("GATE1").unwrap(), IDENTITY);
        settings.onboarding = Onboarding { patterns: vec!["DEV*".to_owned()], devices_max: 100 };
        change(&mut settings);
        // The only look at a clock: instants cannot be made out of nothing.
        let time = Instant::now();
        let mut disk = Disk::default();
        let mut batch = disk.begin();
        let now = Now { wall_ms: 1_000_000, instant: time };
        let area = Area::new(settings.clone(), &disk.recovered(), now, &mut batch).unwrap();
        disk.submit(&batch);
        let mut pair = Self {
            time,
            wall_ms: now.wall_ms,
            settings,
            disk,
            area,
            links: BTreeMap::new(),
            devices: Vec::new(),
            puts: Puts::Take,
            in_exits: VecDeque::new(),
            letters: VecDeque::new(),
            ledger: Ledger::default(),
            cold: VecDeque::new(),
            kept: BTreeMap::new(),
            index_broken: false,
            evictions: 0,
            prepared: BTreeMap::new(),
            undurable: Vec::new(),
            next_conn: 0,
            next_mq: 0,
        };
        pair.sync_all();
        pair.add_device(0);
        pair
    }

    /// Another device store; the number is that of its name, so that two may have one name.
    pub(super) fn add_device(&mut self, number: usize) -> usize {
        let mut settings = DeviceSettings::new(name(number));
        settings.window_messages = 4;
        settings.confirm_batch = 2;
        let machine = Device::new(self.time, settings.clone(), DeviceState::default());
        self.devices.push(DeviceSide {
            machine,
            settings,
            file: BytesMut::new(),
            disk: VecDeque::new(),
            conn: None,
            decide: Decide::Store,
            held: Vec::new(),
            ended: Vec::new(),
            decided: Vec::new(),
        });
        self.devices.len() - 1
    }

    pub(super) fn now(&self) -> Now {
        Now { wall_ms: self.wall_ms, instant: self.time }
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.time += time;
        self.wall_ms += time.as_millis() as u64;
    }

    // --- gateway ---

    /// One turn of the core.
    pub(super) fn turn<T>(
        &mut self,
        f: impl FnOnce(&mut Area, Now, &mut Batch, &mut Vec<AreaEffect>) -> T,
    ) -> T {
        let now = self.now();
        let mut batch = self.disk.begin();
        let mut out = Vec::new();
        let value = f(&mut self.area, now, &mut batch, &mut out);
        self.disk.submit(&batch);
        for effect in out {
            let (conn, needs) = match &effect {
                AreaEffect::Frame { conn, needs, .. } => (*conn, *needs),
                AreaEffect::Message { conn, needs, .. } => (*conn, Some(*needs)),
                AreaEffect::Close { conn, .. } => (*conn, None),
                AreaEffect::DeadLetter { .. } | AreaEffect::Owes { .. } => {
                    self.letters.push_back(effect);
                    continue;
                }
            };
            if let Some(link) = self.links.get_mut(&conn) {
                link.held.push_back((needs, effect));
            }
        }
        self.release();
        value
    }

    /// A message for a device out of MQ, in a unit of its own, not synced.
    pub(super) fn offer(
        &mut self,
        device: DeviceName,
        message: &DeviceMessage,
    ) -> Result<Accepted, Undelivered> {
        let (accepted, position) = self.turn(|area, now, batch, out| {
            let unit = batch.new_unit();
            let accepted = area.accept(now, &device, message, unit, batch)?;
            let mut commit = Commit { unit: Some(unit), ..Commit::default() };
            area.seal_unit(now, unit, &mut commit);
            batch.commit(commit);
            area.unit_is_real(now, unit, batch, out);
            Ok((accepted, batch.position()))
        })?;
        if let Accepted::Stored(uid) = accepted {
            let number = number_of(&message.payload);
            self.ledger.offered(number, uid, message.priority(), device);
            self.undurable.push((position, number));
        }
        Ok(accepted)
    }

    /// The same for device 0, durable.
    pub(super) fn give(&mut self, number: u32, priority: u8) -> Uid {
        let accepted = self.offer(name(0), &message(number, priority)).unwrap();
        self.sync_all();
        match accepted {
            Accepted::Stored(uid) => uid,
            Accepted::Expired => panic!("expired"),
        }
    }

    pub(super) fn sync(&mut self) -> bool {
        let synced = self.disk.sync();
        let durable = self.disk.durable();
        self.undurable.retain(|(position, _)| *position > durable);
        self.release();
        synced
    }

    pub(super) fn sync_all(&mut self) {
        while self.sync() {}
    }

    pub(super) fn crash_gateway(&mut self) {
        for link in self.links.values_mut() {
            link.at_gateway = false;
            link.up.clear();
            link.held.clear();
        }
        self.in_exits.clear();
        self.letters.clear();
        self.cold.clear();
        self.kept.clear();
        let recovered = self.disk.crash();
        self.prepared.clear();
        for prepared in &recovered.prepared {
            let note = std::str::from_utf8(&prepared.note).unwrap();
            let (number, becomes_real) = note.split_once(' ').unwrap();
            let decision = (number.parse().unwrap(), becomes_real.parse().unwrap());
            self.prepared.insert(prepared.unit, decision);
        }
        // Nobody was told that these were taken.
        for (_, number) in self.undurable.drain(..) {
            self.ledger.never_durable(number);
        }
        let now = self.now();
        let mut batch = self.disk.begin();
        self.area = Area::new(self.settings.clone(), &recovered, now, &mut batch).unwrap();
        self.disk.submit(&batch);
        // Durable before anything is served (STORE.md 3).
        self.sync_all();
        self.tidy();
    }

    /// Up to `bytes` of a link reach the gateway, and it acts on them.
    pub(super) fn carry_up(&mut self, conn: ConnId, bytes: usize) {
        let now = self.now();
        let Some(link) = self.links.get_mut(&conn).filter(|link| link.at_gateway) else { return };
        let count = bytes.min(link.up.len());
        let taken: Vec<u8> = link.up.drain(..count).collect();
        link.machine.handle_bytes(now.instant, &taken);
        while let Some(event) = self.links.get_mut(&conn).and_then(|link| link.machine.poll_event()) {
            match event {
                DeviceEvent::Request { request, frame } => self.request(conn, request, frame),
                DeviceEvent::Ended(_) => self.gateway_sees_end(conn),
            }
        }
        self.release();
    }

    fn request(&mut self, conn: ConnId, request: RequestId, frame: Frame) {
        match frame {
            Frame::Put(put) => {
                let check = self.turn(|area, now, _, out| {
                    let check = area.put_arrived(conn, request, put.sequence, out);
                    if check == PutCheck::Waits {
                        area.put_waits(now, conn, request, put.sequence);
                    }
                    check
                });
                if let PutCheck::New(_) = check {
                    self.in_exits.push_back((conn, request, put));
                    if self.puts != Puts::Hold {
                        self.out_of_exits();
                    }
                }
            }
            frame => self.turn(|area, now, batch, out| match frame {
                Frame::Hello(hello) => area.hello(conn, request, &hello, batch, out),
                Frame::Resume { stored, refused } => {
                    area.resume(conn, request, &stored, &refused, batch, out);
                }
                Frame::Get { messages, bytes, wait_ms } => {
                    area.get(now, conn, request, messages, bytes, wait_ms, batch, out);
                }
                Frame::Confirm(uids) => area.confirm(now, conn, request, &uids, batch, out),
                Frame::Reject { uid, reason } => area.reject(conn, request, uid, reason, batch, out),
                Frame::Release(uid) => area.release(now, conn, request, uid, batch, out),
                other => panic!("no request: {other:?}"),
            }),
        }
    }

    pub(super) fn gateway_sees_end(&mut self, conn: ConnId) {
        if let Some(link) = self.links.get_mut(&conn).filter(|link| link.at_gateway) {
            link.at_gateway = false;
            link.up.clear();
            link.held.clear();
            self.turn(|area, _, _, _| area.closed(conn));
        }
        self.tidy();
    }

    pub(super) fn gateway_timeout(&mut self) {
        if self.area.poll_timeout().is_some_and(|at| at <= self.time) {
            self.turn(Area::handle_timeout);
        }
    }

    pub(super) fn view(&self) -> DeviceView {
        self.area.device(&name(0)).unwrap()
    }

    /// Lets frames go whose position is durable, in the order in which they were made.
    fn release(&mut self) {
        let durable = self.disk.durable();
        for link in self.links.values_mut() {
            while let Some((needs, _)) = link.held.front()
                && needs.is_none_or(|needs| needs <= durable)
            {
                let Some((_, effect)) = link.held.pop_front() else { break };
                match effect {
                    AreaEffect::Frame { request, frame, .. } => link.machine.send(request, &frame),
                    AreaEffect::Message { request, head, id, .. } => {
                        let (envelope, body) = self.disk.body(id);
                        link.machine.send_message(request, head, envelope, body);
                    }
                    AreaEffect::Close { .. } => link.machine.close(),
                    AreaEffect::DeadLetter { .. } | AreaEffect::Owes { .. } => {}
                }
            }
            while let Some(bytes) = link.machine.poll_output() {
                if link.at_device && link.at_gateway {
                    link.down.extend(bytes);
                }
            }
        }
        let over: Vec<ConnId> = self
            .links
            .iter()
            .filter(|(_, link)| link.machine.is_ended() && link.at_gateway && link.held.is_empty())
            .map(|(conn, _)| *conn)
            .collect();
        for conn in over {
            if let Some(link) = self.links.get_mut(&conn) {
                link.at_gateway = false;
                link.up.clear();
            }
            self.area.closed(conn);
        }
    }

    // --- devices ---

    pub(super) fn connect(&mut self, device: usize) -> ConnId {
        self.give_up(device);
        self.next_conn += 1;
        let conn = ConnId(self.next_conn);
        let machine = DeviceConnection::new(self.time, self.settings.limits, Duration::from_secs(10));
        self.links.insert(
            conn,
            Link {
                device,
                machine,
                held: VecDeque::new(),
                up: VecDeque::new(),
                down: VecDeque::new(),
                at_gateway: true,
                at_device: true,
            },
        );
        self.devices[device].conn = Some(conn);
        self.devices[device].machine.connected(self.time);
        self.act(device);
        conn
    }

    /// The device closes its connection. What it has sent may still reach the gateway.
    pub(super) fn give_up(&mut self, device: usize) {
        if let Some(conn) = self.devices[device].conn.take() {
            self.devices[device].machine.disconnected();
            if let Some(link) = self.links.get_mut(&conn) {
                link.at_device = false;
                link.down.clear();
            }
        }
        self.act(device);
        self.tidy();
    }

    /// Up to `bytes` of a link reach the device, and it acts on them.
    pub(super) fn carry_down(&mut self, conn: ConnId, bytes: usize) {
        let Some(link) = self.links.get_mut(&conn).filter(|link| link.at_device) else { return };
        let device = link.device;
        let count = bytes.min(link.down.len());
        let taken: Vec<u8> = link.down.drain(..count).collect();
        let over = link.down.is_empty() && !link.at_gateway;
        self.devices[device].machine.handle_bytes(self.time, &taken);
        self.act(device);
        if over && self.devices[device].conn == Some(conn) {
            self.give_up(device);
        }
    }

    /// The device's disk takes one step. False if there was none.
    pub(super) fn device_sync(&mut self, device: usize) -> bool {
        let side = &mut self.devices[device];
        let Some(op) = side.disk.pop_front() else { return false };
        match op {
            DiskOp::Persist(token, records) => {
                records.iter().for_each(|record| record.encode(&mut side.file));
                side.machine.persisted(self.time, token);
            }
            DiskOp::Store(uid, record) => {
                record.encode(&mut side.file);
                if let DeviceRecord::Noted { payload, .. } = &record {
                    self.ledger.arrived(number_of(payload), device);
                }
                side.machine.stored(self.time, uid);
            }
        }
        self.act(device);
        true
    }

    pub(super) fn crash_device(&mut self, device: usize) {
        self.give_up(device);
        let side = &mut self.devices[device];
        side.disk.clear();
        side.held.clear();
        let mut state = DeviceState::default();
        Records::new(&side.file).for_each(|record| state.apply(&record));
        side.machine = Device::new(self.time, side.settings.clone(), state);
    }

    pub(super) fn lose_device_store(&mut self, device: usize) {
        self.devices[device].file.clear();
        self.crash_device(device);
    }

    pub(super) fn device_timeout(&mut self, device: usize) {
        if self.devices[device].machine.poll_timeout().is_some_and(|at| at <= self.time) {
            self.devices[device].machine.handle_timeout(self.time);
            self.act(device);
        }
    }

    pub(super) fn put(&mut self, device: usize, number: u32) -> Sequence {
        let queue = QName::new("REPLIES").unwrap();
        let put = message(number, 0);
        let sequence = self.devices[device].machine.put(self.time, queue, QMgrName::BLANK, &put);
        self.act(device);
        sequence
    }

    /// Carries out what the device's machine wants.
    pub(super) fn act(&mut self, device: usize) {
        while let Some(action) = self.devices[device].machine.poll_action() {
            let side = &mut self.devices[device];
            match action {
                Action::Persist { token, records } => side.disk.push_back(DiskOp::Persist(token, records)),
                Action::Deliver { head, envelope, payload } => {
                    side.held.push((head.uid, envelope, payload));
                }
                Action::PutDecided { sequence, outcome } => side.decided.push((sequence, outcome)),
                Action::Empty => {}
                Action::Ended { why, .. } => {
                    side.ended.push(why);
                    self.give_up(device);
                }
            }
            self.decide_held(device);
        }
        let side = &mut self.devices[device];
        let mut bytes = Vec::new();
        while let Some(chunk) = side.machine.poll_output() {
            bytes.extend_from_slice(&chunk);
        }
        if let Some(link) = side.conn.and_then(|conn| self.links.get_mut(&conn))
            && link.at_gateway
        {
            link.up.extend(bytes);
        }
    }

    pub(super) fn decide_held(&mut self, device: usize) {
        let time = self.time;
        let side = &mut self.devices[device];
        if side.decide == Decide::Hold {
            return;
        }
        for (uid, envelope, payload) in std::mem::take(&mut side.held) {
            match side.decide {
                Decide::Store => {
                    let record = DeviceRecord::Noted { uid, envelope, payload };
                    side.disk.push_back(DiskOp::Store(uid, record));
                }
                Decide::Reject => side.machine.reject(time, uid, Reason::UNKNOWN_OBJECT_NAME),
                Decide::Release => side.machine.release(time, uid),
                Decide::Hold => {}
            }
        }
    }

    // --- both ---

    /// Everything that needs no fault, until nothing is left to do.
    pub(super) fn settle(&mut self) {
        for _ in 0..100_000 {
            let mut moved = self.sync() | self.cold_step();
            let conns: Vec<ConnId> = self.links.keys().copied().collect();
            for conn in conns {
                moved |= self.step_link(conn);
            }
            for device in 0..self.devices.len() {
                moved |= self.device_sync(device);
            }
            if self.puts != Puts::Hold && !self.in_exits.is_empty() {
                self.out_of_exits();
                moved = true;
            }
            if !self.letters.is_empty() {
                self.finish_letter();
                moved = true;
            }
            if !moved {
                return;
            }
        }
        panic!("it does not come to rest");
    }

    fn step_link(&mut self, conn: ConnId) -> bool {
        let Some(link) = self.links.get(&conn) else { return false };
        let (up, down) = (link.up.len(), link.down.len());
        let (at_gateway, at_device) = (link.at_gateway, link.at_device);
        if up > 0 && at_gateway {
            self.carry_up(conn, up);
        }
        if at_device && (down > 0 || !at_gateway) {
            self.carry_down(conn, down);
        }
        if !at_device && at_gateway && up == 0 {
            self.gateway_sees_end(conn);
            return true;
        }
        (up > 0 && at_gateway) || (at_device && (down > 0 || !at_gateway))
    }

    /// Connections that both sides have left are gone.
    fn tidy(&mut self) {
        self.links.retain(|_, link| link.at_gateway || link.at_device);
    }

    /// Numbers that the device's application has, in the order in which they came.
    pub(super) fn have(&self, device: usize) -> Vec<u32> {
        let mut seen = Vec::new();
        for record in Records::new(&self.devices[device].file) {
            if let DeviceRecord::Noted { payload, .. } = record {
                seen.push(number_of(&payload));
            }
        }
        seen
    }

    /// The last error frame's code that ended a connection of the device.
    pub(super) fn ended_with(&self, device: usize) -> Option<ErrorCode> {
        match self.devices[device].ended.last()? {
            EndWhy::Gateway { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Uids in doubt by the area's view.
    pub(super) fn in_doubt(&self) -> BTreeSet<Uid> {
        use crate::area::MessageState;
        let messages = self.area.messages(&name(0)).unwrap();
        messages.filter(|view| view.state != MessageState::Waiting).map(|view| view.uid).collect()
    }
}
