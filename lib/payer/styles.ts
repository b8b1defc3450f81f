import { Html } from '#lib/core/html.ts'

/** The dashboard's colours and proportions, in CSS for old phones too. */
export const STYLES = new Html(`
:root{color-scheme:light dark;--paper:#f7f5f0;--surface:#fff;--sunk:#f0ede6;--ink:#17211d;--muted:#5d6862;--line:#e3dfd5;--accent:#0a6a57;--on:#fff;--ok:#18734b;--ok-soft:#ddf0e4;--bad:#a8321f;--bad-soft:#f8dfd9;--off:#59635d;--off-soft:#e9e6de;--test:#ae4512;--test-soft:#fbe6d8;--lift:0 1px 2px rgba(23,33,29,.06),0 4px 12px rgba(23,33,29,.06)}
@media(prefers-color-scheme:dark){:root{--paper:#0f1513;--surface:#161e1b;--sunk:#1c2622;--ink:#e8eeea;--muted:#a0ada6;--line:#26312c;--accent:#4cc9a4;--on:#06231b;--ok:#5bd39a;--ok-soft:#12301f;--bad:#f08a76;--bad-soft:#3a1812;--off:#a0ada6;--off-soft:#232d29;--test:#f39a63;--test-soft:#3a2112;--lift:none}}
*{box-sizing:border-box;margin:0}
html{background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{display:flex;flex-direction:column;min-height:100vh;min-height:100dvh}
main{width:100%;max-width:390px;margin:0 auto;padding:26px 22px 12px;outline:0}
.r{border-top:4px solid var(--test);background:var(--test-soft);color:var(--test);padding:10px 22px;text-align:center;font-size:13.5px}
.r b{display:block}
.r .i{width:16px;height:16px;margin-right:6px;vertical-align:-3px}
.i{width:18px;height:18px;flex:none;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.head{text-align:center;margin-bottom:24px}
.name{font-weight:600;overflow-wrap:anywhere}
.sum{font-size:46px;font-weight:700;letter-spacing:-.025em;line-height:1.25;white-space:nowrap}
.sum.long{font-size:32px}
.sum i{font-style:normal;font-weight:400;font-size:.5em;color:var(--muted);letter-spacing:0;margin-right:.28em}
.sum sup{font-size:.46em;letter-spacing:0;line-height:0;vertical-align:.62em}
.what{margin-top:6px;overflow-wrap:anywhere}
.ref{color:var(--muted);font-size:13.5px;overflow-wrap:anywhere;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden}
.sheet{background:var(--surface);border:1px solid var(--line);border-radius:16px;box-shadow:var(--lift);padding:20px}
.qr{display:block;width:100%;max-width:304px;margin:0 auto;height:auto;aspect-ratio:1;background:#fff;border:1px solid var(--line);border-radius:12px}
button{display:flex;align-items:center;justify-content:center;gap:8px;width:100%;min-height:52px;margin-top:16px;border:0;border-radius:10px;background:var(--accent);color:var(--on);font-family:inherit;font-size:16px;font-weight:600;cursor:pointer}
button:hover{filter:brightness(1.1)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:4px}
button:focus-visible{border-radius:10px}
.code{display:block;margin-top:12px;padding:10px 12px;border-radius:10px;background:var(--sunk);font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;-webkit-user-select:all;user-select:all}
.how{margin-top:12px;text-align:center;color:var(--muted);font-size:13.5px;text-wrap:balance}
.line{display:flex;align-items:center;justify-content:center;gap:10px;margin-top:20px;color:var(--muted);text-align:center}
.line span{text-wrap:balance}
.line b{color:var(--ink);font-weight:600;overflow-wrap:anywhere}
.small{font-size:13.5px}
.line.small{display:block}
.line.small .i{margin-right:8px;vertical-align:-4px}
.state{text-align:center;padding:8px 0 4px}
.badge{display:inline-flex;align-items:center;justify-content:center;width:56px;height:56px;border-radius:50%}
.badge .i{width:28px;height:28px}
.ok{background:var(--ok-soft);color:var(--ok)}.bad{background:var(--bad-soft);color:var(--bad)}.off{background:var(--off-soft);color:var(--off)}
h1{font-size:19px;line-height:1.3;letter-spacing:-.012em;margin-top:14px;text-wrap:balance}
.state p{margin-top:6px;color:var(--muted);overflow-wrap:anywhere;text-wrap:pretty}
dl{margin-top:18px;border-top:1px solid var(--line);padding-top:6px}
dl div{display:flex;justify-content:space-between;gap:16px;padding:8px 0}
dt{color:var(--muted);flex:none}
dd{text-align:right;font-weight:500;min-width:0;overflow-wrap:anywhere}
dd a{color:var(--accent)}
dl .w{display:block}.w dd{text-align:left}
.id{font:12.5px/1.7 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
footer{margin-top:auto;padding:16px 22px 22px;text-align:center;font-size:13.5px}
footer a{color:var(--muted);display:inline-block;padding:6px 10px}
.lost{position:fixed;inset:auto 16px 16px;max-width:390px;margin:0 auto;padding:10px 16px;border-radius:10px;background:var(--ink);color:var(--paper);font-size:13.5px;text-align:center}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
[hidden]{display:none!important}
@media(max-width:359px){main{padding-inline:14px}.sheet{padding:14px}.sum{font-size:38px}.sum.long{font-size:26px}dl div{display:block}dd{text-align:left}}
@media(min-width:700px) and (min-height:820px){main{margin-block:auto}}
@media(prefers-reduced-motion:no-preference){.badge{animation:in .18s ease-out}@keyframes in{from{transform:scale(.8);opacity:0}}}
`)

/** For browsers without scripts: shows the whole code for selection. */
export const PLAIN_STYLES = new Html(
  '.js{display:none!important}.code{white-space:normal;word-break:break-all}',
)
