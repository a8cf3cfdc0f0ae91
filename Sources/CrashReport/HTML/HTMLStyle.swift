internal import CrashAnalysis

/// The page's style sheet, with one column, the system's fonts, and a light and a dark mode.
package enum HTMLStyle {
  package static let text: StaticString = """
    :root{--back:#fff;--card:#f6f7f9;--text:#17191c;--faint:#5c6470;--line:#dfe3e8;--red:#b3261e;--redback:#fdecea;\
    --code:#3a6fb0;--data:#b07a1e;--read:#7d8794;--own:#0b57a4}
    @media (prefers-color-scheme:dark){:root{--back:#14161a;--card:#1d2025;--text:#e4e7eb;--faint:#98a1ad;\
    --line:#32373e;--red:#ff8a80;--redback:#3a1d1c;--code:#5b94da;--data:#d5a04a;--read:#6d7683;--own:#8ec2ff}}
    *{box-sizing:border-box}
    html{-webkit-text-size-adjust:100%}
    body{margin:0 auto;padding:16px 16px 48px;max-width:1060px;background:var(--back);color:var(--text);\
    font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
    h1{font-size:21px;line-height:1.3;margin:4px 0 12px;white-space:pre-wrap}
    h1.long{font-size:16px;line-height:1.4}
    .place{font-size:16px;font-weight:600;margin:-6px 0 12px;overflow-wrap:anywhere}
    h2{font-size:15px;margin:26px 0 8px;padding-bottom:4px;border-bottom:1px solid var(--line)}
    h2 a{color:inherit;text-decoration:none}h2 a:hover::after{content:" #";color:var(--faint)}
    nav{display:flex;flex-wrap:wrap;gap:2px 14px;margin-top:14px;font-size:13px}
    nav a{color:var(--own);text-decoration:none}nav a:hover{text-decoration:underline}
    :target{scroll-margin-top:12px}summary:has(+:target),p:target{font-weight:600}
    .work{margin:-4px 0 12px}.work dd{font-weight:600}
    p{margin:8px 0}
    code,pre,.stack,.registers,.map,.modules,.at{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
    code{font-size:inherit}
    .program,.faint,footer{color:var(--faint)}
    .program{margin:0}
    .at{color:var(--faint);font-size:12px}
    dl{margin:0}dd{margin:0}dt{color:var(--faint)}
    .signs{display:flex;flex-wrap:wrap;gap:8px}
    .signs div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:5px 10px}
    .signs div:first-child{background:var(--redback);border-color:var(--red)}
    .signs div:first-child dd{color:var(--red);font-weight:600}
    .signs dt{font-size:12px}
    .facts{display:grid;grid-template-columns:minmax(84px,max-content) 1fr;gap:3px 14px}
    .facts dd{white-space:pre-wrap}
    .row,.note{margin:3px 0}
    ol.stack{list-style:none;margin:0;padding:0;font-size:13px}
    .stack li{display:flex;gap:10px;padding:5px 8px;border-left:3px solid transparent}
    .stack li+li{border-top:1px solid var(--line)}
    .stack li.own{border-left-color:var(--own);background:var(--card)}
    .stack li.own code{font-weight:600}
    .stack li.system code{color:var(--faint)}
    .stack li.gap{color:var(--faint);font-style:italic}
    .stack b{flex:none;min-width:26px;color:var(--faint);font-weight:400;text-align:right;white-space:nowrap}
    .stack div{min-width:0;flex:1}
    .stack i{font-style:normal;font-size:11px;border:1px solid var(--line);border-radius:4px;padding:0 4px;margin-left:8px;\
    color:var(--faint)}
    .stack .line{color:var(--own);margin-right:14px}
    .stack p{margin:0}
    .stack p span{display:inline-block}.stack p .address{display:inline}
    .stack li.blame{border-left-color:var(--red);background:var(--redback)}
    .stack li.blame code{color:var(--red)}
    .registers{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:2px 18px;font-size:13px}
    .registers div{display:flex;gap:8px;align-items:baseline}
    .registers dt{flex:0 0 50px;text-align:right}
    .registers .at{margin-left:10px}
    details{border-top:1px solid var(--line)}h2+details{border-top:0}
    summary{cursor:pointer;padding:8px 2px}
    .where{color:var(--faint);margin-left:10px;font-size:13px}
    pre{margin:0 0 10px;padding:8px;overflow-x:auto;background:var(--card);border-radius:6px;font-size:12px;line-height:1.5}
    pre .mark{background:var(--redback);color:var(--red)}
    .key{display:flex;flex-wrap:wrap;gap:4px 14px;font-size:12px;color:var(--faint)}
    .swatch::before{content:"";display:inline-block;width:10px;height:10px;margin-right:5px;background:var(--kind)}
    .x{--kind:var(--code)}.w{--kind:var(--data)}.r{--kind:var(--read)}.n{--kind:var(--line)}
    .map{font-size:12px}
    .map details{border:0;border-left:8px dotted var(--line);padding-left:8px;margin:2px 0}
    .map summary{padding:4px 0;color:var(--faint)}
    .region{display:flex;gap:12px;border-left:18px solid var(--kind);padding:1px 8px;min-height:22px;margin:1px 0;\
    background:var(--card)}
    .region.s1{min-height:30px}.region.s2{min-height:42px}.region.s3{min-height:60px}
    .region>code{color:var(--faint)}
    .region>div{display:flex;flex-wrap:wrap;gap:0 12px;min-width:0}
    .hole{border-left:1px dashed var(--faint);margin-left:8px;padding:3px 18px;color:var(--faint)}
    div.mark{border-left:18px solid var(--faint);padding:3px 8px;font-weight:600}
    span.mark{font-weight:600}
    .map span.mark::before{content:"\\25C0  "}
    .mark.fault{color:var(--red)}
    div.mark.fault{border-left-color:var(--red);background:var(--redback)}
    .modules{list-style:none;margin:0;padding:0;font-size:13px}
    .modules li{padding:4px 0;border-bottom:1px solid var(--line)}
    .modules .at{display:block}
    .note{color:var(--data);font-family:system-ui,sans-serif;font-size:13px}
    footer{margin-top:28px;border-top:1px solid var(--line);font-size:13px}
    @media (max-width:640px){.stack p .address{display:none}}
    @media print{nav{display:none}details>*{display:block}details::details-content{content-visibility:visible}}
    """
}
