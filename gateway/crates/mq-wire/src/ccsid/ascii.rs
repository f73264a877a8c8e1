//! The pages whose lower half is ASCII: the characters of the upper half, as IBM (CDRA) and Microsoft publish them. Bytes
//! that a Windows page does not define are the control characters of the same number, so that every page is one-to-one.

/// 437: DOS in the US, 0x80 to 0xFF.
pub(super) const CP437: &str = "\
    ÇüéâäàåçêëèïîìÄÅ\
    ÉæÆôöòûùÿÖÜ¢£¥₧ƒ\
    áíóúñÑªº¿⌐¬½¼¡«»\
    ░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧\
    ╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
    αßΓπΣσµτΦΘΩδ∞φε∩\
    ≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}";

/// 850: DOS in Western Europe, 0x80 to 0xFF.
pub(super) const CP850: &str = "\
    ÇüéâäàåçêëèïîìÄÅ\
    ÉæÆôöòûùÿÖÜø£Ø×ƒ\
    áíóúñÑªº¿®¬½¼¡«»\
    ░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
    └┴┬├─┼ãÃ╚╔╩╦╠═╬¤\
    ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀\
    ÓßÔÒõÕµþÞÚÛÙýÝ¯´\
    \u{AD}±‗¾¶§÷¸°¨·¹³²■\u{A0}";

/// 1250: Windows in Central Europe, 0x80 to 0xFF.
pub(super) const CP1250: &str = "\
    €\u{81}‚\u{83}„…†‡\u{88}‰Š‹ŚŤŽŹ\
    \u{90}‘’“”•–—\u{98}™š›śťžź\
    \u{A0}ˇ˘Ł¤Ą¦§¨©Ş«¬\u{AD}®Ż\
    °±˛ł´µ¶·¸ąş»Ľ˝ľż\
    ŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎ\
    ĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢß\
    ŕáâăäĺćçčéęëěíîď\
    đńňóôőö÷řůúűüýţ˙";

/// 1252: Windows in Western Europe, 0x80 to 0x9F; above it is ISO 8859-1.
pub(super) const CP1252: &str = "\
    €\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\
    \u{90}‘’“”•–—˜™š›œ\u{9D}žŸ";

/// What 923 (ISO 8859-15) has at other places than ISO 8859-1.
pub(super) const CP923: &[(u8, char)] =
    &[(0xA4, '€'), (0xA6, 'Š'), (0xA8, 'š'), (0xB4, 'Ž'), (0xB8, 'ž'), (0xBC, 'Œ'), (0xBD, 'œ'), (0xBE, 'Ÿ')];
