"use strict";
// What the page of a seat begins with: the seat that this browser has already, a link, or a name.
if (table && table !== evening) token = localStorage.getItem(`seat ${table}`);
else localStorage.removeItem(`seat ${table}`); // there is none; a link may have left one
if (table) link = /^#([\w-]{1,43})$/.exec(location.hash)?.[1] ?? null;
if (table === evening && link?.length !== 43) link = null; // whose tokens are all made here, or by the server
if (!link) cleanAddress();
part("join").elements.sound.checked = !localStorage.getItem("silent");
part("join").elements.name.value = localStorage.getItem("name") ?? "";
// A seat that this browser has already cannot be replaced by a link that somebody sends.
if (token) keep(table, token);
if (token || (ticket && table === evening && !link)) enter();
else offer();
