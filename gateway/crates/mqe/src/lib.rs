//! MQe messages and fields, device protocol machines, store-and-forward logic.
