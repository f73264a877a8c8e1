//! Devices: one thin task a connection, which moves bytes between socket and protocol machine, requests to the core,
//! and puts through the exits.

mod connection;
mod puts;

use std::path::Path;
use std::time::Duration;

use mqe::area::{Area, AreaSettings, Onboarding, ParkLimits, RecoverError};
use mqe::frame::{FRAME_BYTES_MAX, Limits};
use mqe::{Now, StoreIdentity};
use store::{Batch, Recovered};

pub(crate) use connection::{DeviceServer, serve};

use crate::clock::Moment;
use crate::config::{self, Config};
use crate::service::Identity;

/// The area as the configuration wants it, with what was recovered.
pub(crate) fn area(
    config: &Config,
    identity: &Identity,
    recovered: &Recovered,
    now: Moment,
    batch: &mut Batch,
) -> Result<Area, RecoverError> {
    let devices = &config.devices;
    let onboarding = match config.onboarding() {
        config::Onboarding::Pattern => {
            Onboarding { patterns: vec![devices.pattern.to_string()], devices_max: devices.count_max }
        }
        config::Onboarding::Open => {
            Onboarding { patterns: vec!["*".to_owned()], devices_max: devices.count_max }
        }
        _ => Onboarding::default(),
    };
    let settings = AreaSettings {
        onboarding,
        limits: limits(config),
        device_messages_max: u32::try_from(devices.messages_max).unwrap_or(u32::MAX),
        device_bytes_max: devices.bytes_max,
        total_bytes_max: half_of_disk(&config.store.directory),
        index_bytes_max: config.store.index_bytes_max,
        park: ParkLimits {
            messages_max: config.park.messages_max,
            bytes_max: config.park.bytes_max,
            time_max: Duration::from_secs(u64::from(config.park.hours_max) * 3600),
        },
        ..AreaSettings::new(config.gateway.name, StoreIdentity(identity.store))
    };
    let now = Now { wall_ms: now.wall_ms, instant: now.instant };
    let mut area = Area::new(settings, recovered, now, batch)?;
    for name in &devices.listed {
        if let Ok(device) = mqe::DeviceName::try_from(*name)
            && area.device(&device).is_none()
            && let Err(error) = area.add_device(device, batch)
        {
            tracing::warn!(%device, %error, "the listed device cannot be added");
        }
    }
    Ok(area)
}

/// What WELCOME says.
pub(crate) fn limits(config: &Config) -> Limits {
    let devices = &config.devices;
    Limits {
        heartbeat_ms: devices.heartbeat_seconds.saturating_mul(1000),
        frame_bytes_max: FRAME_BYTES_MAX as u32,
        window_messages_max: devices.window_messages_max,
        window_bytes_max: devices.window_bytes_max,
        wait_ms_max: devices.long_poll_seconds_max.saturating_mul(1000),
        ..Limits::default()
    }
}

/// The most that all devices together may have: half of the disk (INTERFACE.md 2).
fn half_of_disk(directory: &Path) -> u64 {
    match rustix::fs::statvfs(directory) {
        Ok(disk) => disk.f_blocks.saturating_mul(disk.f_frsize) / 2,
        Err(error) => {
            tracing::warn!(%error, directory = %directory.display(), "the size of the disk cannot be told: devices have no common limit");
            u64::MAX
        }
    }
}
