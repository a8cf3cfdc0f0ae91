/// The style rules that an overview adds to the style rules of a report's page.
enum OverviewStyle {
  static let text: StaticString = """
    .tiles dd{font-size:20px;font-weight:600;font-variant-numeric:tabular-nums}
    .tiles div:first-child{background:var(--card);border-color:var(--line)}
    .tiles div:first-child dd{color:var(--text)}
    .crash{fill:var(--red);--kind:var(--red)}.hang{fill:var(--data);--kind:var(--data)}
    .end{fill:var(--read);--kind:var(--read)}.dump{fill:var(--code);--kind:var(--code)}
    .days{display:flex;gap:8px;height:200px}
    .days svg{flex:1;min-width:0;height:100%;display:block;overflow:visible}
    .days line{stroke:var(--line);vector-effect:non-scaling-stroke}
    .days g:hover rect{opacity:.7}
    .scale{display:flex;flex-direction:column;justify-content:space-between;text-align:right;margin:-8px 0;min-width:28px}
    .scale,.dates{font-size:12px;color:var(--faint);font-variant-numeric:tabular-nums}
    .dates{display:flex;justify-content:space-between;margin:6px 0 0 36px}
    ol.groups{list-style:none;margin:0;padding:0;font-size:14px}
    .groups li{display:flex;gap:14px;align-items:center;padding:6px 0;border-top:1px solid var(--line)}
    .groups li:first-child{border-top:0}
    .count{flex:0 0 88px;text-align:right;font-variant-numeric:tabular-nums}
    .count span{display:block;line-height:1.3}
    .name{flex:1;min-width:0}.name p{margin:1px 0 0}
    .name .at{font-family:inherit}
    .share{display:block;width:100%;height:5px;background:var(--card)}.share rect{fill:var(--red)}
    .spark{flex:0 0 180px;width:180px;height:26px;border-bottom:1px solid var(--line)}.spark rect{fill:var(--own)}
    .crash-title{font-weight:600;color:var(--text);overflow-wrap:anywhere}
    .new{margin-left:8px;padding:0 5px;border-radius:4px;background:var(--redback);color:var(--red);font-size:11px}
    @media (max-width:640px){.groups li{flex-wrap:wrap;gap:4px 10px}.count{flex-basis:60px}.groups code{font-size:12px}
    .spark{flex:1 0 100%;height:16px}.days{height:140px}}
    """
}
