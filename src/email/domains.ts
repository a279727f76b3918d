import { getDomain } from "tldts";

/** Characters that no domain has. A URL would end its host at some of them, and leave out or decode others. */
const NO_DOMAIN = /[/?#\\:%@\s\p{Cc}]/u;

/** Returns the domain of an address, or a domain itself, in lower case and ASCII form. */
export function domainOf(address: string): string {
  const domain = address.slice(address.lastIndexOf("@") + 1).toLowerCase();
  return !NO_DOMAIN.test(domain) && URL.canParse(`https://${domain}`) ? new URL(`https://${domain}`).hostname : domain;
}

/**
 * Returns the domain that somebody has registered: the part of a domain that is one label longer than its public suffix, such as
 * `example.co.uk` for `mail.example.co.uk`, and `ada.github.io` for `ada.github.io`. A public suffix is returned as it is.
 */
function registeredDomain(domain: string): string {
  return getDomain(domain, { allowPrivateDomains: true, extractHostname: false }) ?? domain;
}

/** Whether two domains are of the same owner: the relaxed alignment of RFC 7489, section 3.1. */
export function isSameOwner(one: string, other: string): boolean {
  return registeredDomain(domainOf(one)) === registeredDomain(domainOf(other));
}

/**
 * Returns the group of senders whose mails are counted together: the registered domain of an address, since whoever owns a domain can
 * send from any number of addresses. At a mailbox provider it is the address, without a tag after `+`: millions of people have
 * addresses there, and each further one costs its owner some work.
 */
export function groupOf(address: string): string {
  const domain = registeredDomain(domainOf(address));
  return MAILBOX_PROVIDERS.has(domain) ? `${address.slice(0, address.lastIndexOf("@")).split("+")[0]}@${domain}`.toLowerCase() : domain;
}

/**
 * Providers of mailboxes for private people that are so common somewhere that their users may send half of a workspace's mails. A
 * provider that is missing here is treated as a company. The published lists of free providers do not fit: they also contain disposable
 * domains, at which one person has any number of addresses.
 */
const MAILBOX_PROVIDERS = new Set(
  `gmail.com googlemail.com
  outlook.com outlook.de outlook.es outlook.fr outlook.it outlook.jp outlook.com.br live.com live.co.uk live.de live.fr live.it live.nl
  hotmail.com hotmail.co.jp hotmail.co.uk hotmail.com.ar hotmail.com.br hotmail.de hotmail.es hotmail.fr hotmail.it hotmail.nl msn.com
  yahoo.com yahoo.ca yahoo.co.id yahoo.co.in yahoo.co.jp yahoo.co.uk yahoo.com.ar yahoo.com.au yahoo.com.br yahoo.com.hk yahoo.com.mx
  yahoo.com.ph yahoo.com.sg yahoo.com.tw yahoo.com.vn yahoo.de yahoo.es yahoo.fr yahoo.in yahoo.it yahoo.pl ymail.com rocketmail.com
  icloud.com me.com mac.com appleid.com aol.com aol.de mail.com email.com zoho.com zohomail.com fastmail.com hey.com
  proton.me protonmail.com pm.me tuta.com tuta.io tutanota.com tutanota.de mailbox.org posteo.de
  gmx.de gmx.net gmx.at gmx.ch gmx.com web.de t-online.de freenet.de arcor.de online.de vodafone.de kabelmail.de
  bluewin.ch sunrise.ch hispeed.ch aon.at chello.at a1.net
  orange.fr wanadoo.fr free.fr sfr.fr neuf.fr laposte.net bbox.fr numericable.fr telenet.be skynet.be proximus.be
  libero.it virgilio.it tiscali.it alice.it tin.it tim.it fastwebnet.it telefonica.net ono.com sapo.pt
  ziggo.nl kpnmail.nl planet.nl hetnet.nl home.nl casema.nl xs4all.nl upcmail.nl
  btinternet.com sky.com talktalk.net virginmedia.com ntlworld.com blueyonder.co.uk eircom.net
  comcast.net verizon.net att.net sbcglobal.net bellsouth.net cox.net charter.net frontier.com earthlink.net optonline.net
  rogers.com shaw.ca bell.net sympatico.ca telus.net videotron.ca bigpond.com bigpond.net.au optusnet.com.au xtra.co.nz
  seznam.cz email.cz centrum.cz atlas.cz post.cz volny.cz azet.sk zoznam.sk centrum.sk wp.pl o2.pl onet.pl op.pl interia.pl gazeta.pl
  freemail.hu citromail.hu t-email.hu abv.bg mail.bg siol.net telia.com comhem.se bredband.net online.no sol.no mail.dk jubii.dk
  mail.ru bk.ru inbox.ru list.ru internet.ru yandex.ru yandex.com ya.ru rambler.ru ukr.net i.ua meta.ua
  qq.com foxmail.com 163.com 126.com yeah.net sina.com sina.cn sohu.com 139.com 189.cn aliyun.com
  naver.com daum.net hanmail.net kakao.com nate.com docomo.ne.jp ezweb.ne.jp softbank.ne.jp softbank.jp nifty.com ocn.ne.jp biglobe.ne.jp
  rediffmail.com uol.com.br bol.com.br terra.com.br globo.com ig.com.br walla.co.il walla.com mynet.com`.split(/\s+/),
);
