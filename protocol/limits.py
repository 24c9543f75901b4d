"""Limits on sizes on the wire, for both sides. Rates and counts are the server's own options."""

from typing import Final

VERSIONS: Final = (1,)  # supported protocol versions, the best one last

CLIENT_FRAME_BYTES: Final = 8 * 1024  # what a client may send in one frame
SERVER_FRAME_BYTES: Final = 256 * 1024  # what a server may send in one frame
STRING_LENGTH: Final = 1024
ARRAY_LENGTH: Final = 512
MAP_LENGTH: Final = 64

NAME_LENGTH: Final = 20
TITLE_LENGTH: Final = 40
SERVER_NAME_LENGTH: Final = 32
SERVER_NAME_BYTES: Final = 56  # of 63 in DNS: a second server of the same name gets a number
LEVEL_LENGTH: Final = 16
LEVELS: Final = 16
CHAT_LENGTH: Final = 200
PEOPLE_LISTED: Final = 50  # in the list of who is online
REMARKS_REPEATED: Final = 20  # of the lobby, and of a table's players and spectators each, to who comes
TOKENS_SHOWN: Final = 8  # with a name for the lobby
ANNOUNCEMENT_LENGTH: Final = 400
CLIENT_NAME_LENGTH: Final = 64
VERSIONS_OFFERED: Final = 16
ADDRESSES_TOLD: Final = 8  # of the other servers of a cluster
ADDRESS_LENGTH: Final = 255
CODE_LENGTH: Final = 4
HOLIDAYS: Final = 60  # days of each player in a correspondence game, at most
MOST_PLANS: Final = 9  # of a player, for one turn
OTHERS_WAIT_SECONDS: Final = 120  # until every player can end a pause, not only who asked for it and the host
EVENING_PEOPLE: Final = 80  # who have signed up for one
PRIVATE_CODE_LENGTH: Final = 8  # so many that trying them is hopeless, from any number of addresses
TOKEN_LENGTH: Final = 43
NOTICE_CODE_LENGTH: Final = 6  # digits that confirm an address for notices
PASSWORD_LENGTH: Final = 128
LARGEST_ID: Final = 2**31 - 1
