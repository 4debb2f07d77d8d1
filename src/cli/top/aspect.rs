//! What is shown of a row: its screen, its messages, its changes or its evidence.

/// What a pane shows of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aspect {
    Screen,
    Messages,
    Changes,
    Evidence,
}

impl Aspect {
    pub(super) const ALL: [Self; 4] = [Self::Screen, Self::Messages, Self::Changes, Self::Evidence];

    /// The aspect of a key.
    pub(super) fn of_key(key: char) -> Option<Self> {
        Self::ALL.into_iter().find(|aspect| aspect.key() == key)
    }

    pub(super) const fn key(self) -> char {
        match self {
            Self::Screen => '1',
            Self::Messages => '2',
            Self::Changes => '3',
            Self::Evidence => '4',
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Screen => "screen",
            Self::Messages => "messages",
            Self::Changes => "changes",
            Self::Evidence => "evidence",
        }
    }

    /// Whether its last lines are the news.
    pub(super) const fn is_read_from_end(self) -> bool {
        matches!(self, Self::Screen | Self::Messages)
    }
}
