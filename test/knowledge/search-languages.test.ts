import { beforeAll, describe, expect, test } from "vitest";
import { found, type Index, load, newIndex, search } from "./agent-index.ts";

describe("a search in a language other than English", () => {
  test.each([
    ["de", "wird bei euch kostenlos geliefert?", "Wir liefern die Waren ohne Aufpreis mit der Post."],
    ["de", "wie ändere ich meine anschrift", "Änderungen der Anschrift melden Sie bitte im Konto."],
    ["fr", "je veux annuler mon abonnement", "Les abonnements peuvent être annulés dans votre compte."],
    ["fr", "où est l'adresse de la boutique", "Vous trouvez notre magasin avec son plan et son adresse ici."],
    ["es", "cómo puedo cancelar", "Cancelamos su reserva cuando usted lo pide por correo."],
    ["it", "come posso restituire un articolo", "Gli articoli si restituiscono con il modulo che è nel pacco."],
    ["pt", "como cancelo a minha assinatura", "As assinaturas são canceladas na página da sua conta."],
    ["nl", "hoe kan ik mijn bestelling annuleren", "De bestellingen die nog niet zijn verzonden worden geannuleerd."],
    ["no", "hvordan endrer jeg passordet mitt", "Du kan endre passord på siden for innlogging."],
    ["sv", "hur ändrar jag lösenordet", "Du kan ändra ditt lösenord på sidan för inloggning, och det är inte svårt."],
    ["da", "hvornår kommer mine bestillinger", "I kan se en bestilling, når den er kommet. Det koster jer ikke noget at få den sendt."],
    ["tr", "siparişimi nasıl iptal ederim", "Siparişler kargoya verilene kadar ve ödeme için iptal edilir."],
  ])("finds words of %s in another form: %s", async (language, question, text) => {
    const index = newIndex();
    await load(index, { text });
    const { passages, questionTerms, ...rest } = await search(index, question);
    expect(rest.language).toBe(language);
    expect(passages.map(({ sourceId }) => sourceId)).toEqual(["text"]);
    const known = questionTerms.filter(({ documentFrequency }) => documentFrequency > 0);
    expect(known.length).toBeGreaterThan(0);
  });

  test("does not search for function words", async () => {
    const index = newIndex();
    await load(index, { text: "Die Waren sind von der Rückgabe ausgeschlossen, wenn sie nicht mehr in der Schachtel sind." });
    const { questionTerms } = await search(index, "wie kann ich die in der Schachtel zurückgeben");
    expect(questionTerms.map(({ term }) => term)).toEqual(["schachtel", "zuruckgeben"]);
  });

  describe("with compounds", () => {
    let index: Index;
    beforeAll(async () => {
      index = newIndex();
      await load(index, {
        costs: "Die Kosten der Rücksendung tragen wir.",
        age: "Das Mindestalter für ein Konto beträgt 16 Jahre.",
        account: "Das Kundenkonto löschen Sie unter den Einstellungen.",
      });
    });

    test.each([
      ["wer zahlt die Rücksendekosten", "costs"],
      ["was ist mit rücksendungskosten", "costs"],
      ["gibt es ein kontomindestalter", "age"],
      ["wie lösche ich ein konto für kunden", "account"],
    ])("answers %j with the parts, or with the compound", async (question, source) => {
      expect((await found(index, question))[0]).toBe(source);
    });
  });

  test("reads a follow-up with the question before it", async () => {
    const index = newIndex();
    await load(index, { text: "Der Versand kostet 4 €, in die Schweiz kostet er 12 €. Wir liefern nicht nach Amerika." });
    const { previousQuestion } = await search(index, "und in die schweiz?", "was kostet der versand");
    expect(previousQuestion).toBe("was kostet der versand");
  });

  test.each([
    ["de", "Wie ist die genaue Höhe der Gebühren für ein neues Konto?", "was kostet der versand"],
    ["es", "¿Cuánto tarda en llegar el pedido que he comprado con tarjeta?", "cuánto cuesta el envío"],
  ])("does not take words of %s for English pronouns", async (_language, question, previous) => {
    const index = newIndex();
    await load(index, {
      german: "Der Versand kostet 4 €, und die Gebühren für ein Konto betragen 2 € im Monat.",
      spanish: "El envío cuesta 4 €, y el pedido que usted ha comprado con la tarjeta tarda dos días en llegar.",
    });
    expect((await search(index, question, previous)).previousQuestion).toBeNull();
  });
});

describe("a search of knowledge in several languages", () => {
  let index: Index;
  beforeAll(async () => {
    index = newIndex();
    await load(index, {
      german: "Wenn Sie Ihr Passwort vergessen haben, setzen Sie es auf der Seite für die Anmeldung zurück.",
      german2: "Die Bestellungen werden am nächsten Tag mit der Post verschickt, und Sie bekommen eine Nachricht.",
      english: "If you want to close the account, you can do it on the page of the settings.",
    });
  });

  test.each([
    ["wann wird meine bestellung verschickt", "de", "german2"],
    ["how do i close my account", "en", "english"],
    ["passwort vergessen", "de", "german"],
  ])("reads %j in its own language", async (question, language, source) => {
    expect((await search(index, question)).language).toBe(language);
    expect((await found(index, question))[0]).toBe(source);
  });
});

test("reads every question in English where the knowledge is in English", async () => {
  const index = newIndex();
  await load(index, { text: "You can reset your password on the page of the settings, and nobody will see it." });
  const { language, passages } = await search(index, "no puedo reset password para mi cuenta");
  expect(language).toBe("en");
  expect(passages).toHaveLength(1);
});
